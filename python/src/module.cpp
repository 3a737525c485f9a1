// The module hologram._core: what of the library Python sees, as thin as can be. The package beside
// it (python/hologram) gives it its shape.
#include "binding.hpp"

NB_MODULE(_core, m) {
  using namespace hologram::python;
  // At the end of the process what is left goes with it.
  nanobind::set_leak_warnings(false);
  m.doc() = "The library behind the package hologram; use the package.";
  register_errors(m);
  register_gil(m);
  register_convert(m);
  register_dtypes(m);
  register_runtime(m);
  register_tensor(m);
  register_elementwise(m);
  register_functions(m);
  register_creation(m);
  register_interchange(m);
  register_programs(m);
  register_files(m);
  register_gradients(m);
  register_analysis(m);
  register_linalg(m);
  register_nn(m);
  register_llm(m);
  register_bisect(m);
}
