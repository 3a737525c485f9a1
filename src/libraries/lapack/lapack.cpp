#include "libraries/lapack/lapack.hpp"

#include <fmt/format.h>

#include <string_view>

namespace hologram::libraries::lapack {

Lapack::Lapack(const core::DynamicLibrary& library) {
  info_.name = "LAPACK";
  if (!library.loaded()) {
    info_.reason = fmt::format("not found ({})", library.reason());
    return;
  }
  info_.path = library.path();
  // SciPy's builds of OpenBLAS have a prefix, so that they do not meet others in a process.
  const std::string_view prefix = library.get<void()>("scipy_sgesv_") != nullptr ? "scipy_" : "";
  const auto named = [&](std::string_view name) { return fmt::format("{}{}", prefix, name); };
  std::string missing;
#define HOLOGRAM_FIND(name, Type)                                \
  library.get(named("s" #name "_").c_str(), f32_.name, missing); \
  library.get(named("d" #name "_").c_str(), f64_.name, missing);
  HOLOGRAM_LAPACK(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!missing.empty()) {
    info_.reason = fmt::format("not usable (it lacks {})", missing);
    return;
  }
  get_threads_ = library.get<cblas::GetNumThreads>(named("openblas_get_num_threads").c_str());
  set_threads_ = library.get<cblas::SetNumThreads>(named("openblas_set_num_threads").c_str());
  auto* const config = library.get<cblas::GetConfig>(named("openblas_get_config").c_str());
  const std::string_view text = config == nullptr ? "" : config();  // "OpenBLAS 0.3.21 …"
  if (text.find("USE64BITINT") != std::string_view::npos)
    info_.reason = "not usable (it is built with 64-bit sizes)";
  const size_t first = text.find(' ');
  if (first != std::string_view::npos) info_.version = text.substr(0, text.find(' ', first + 1));
}

const Lapack& Lapack::instance() {
  static const auto* const library =
      new Lapack(open(kVariable, {"libopenblas.so.0", "liblapack.so.3"}));
  return *library;
}

}  // namespace hologram::libraries::lapack
