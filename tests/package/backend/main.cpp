// A backend from outside the tree: the null backend's sources, compiled against the installed
// headers and registered under another name.
#include <hologram/backend.hpp>
#include <hologram/hologram.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/null/null.hpp"

namespace {

using namespace hologram;

bool works(const Executor& executor, BackendType mine) {
  if (executor.device().backend != mine) return false;
  // It moves bytes,
  const std::vector<float> values = {1, 2, 3};
  const Tensor there = Tensor::from(Array::from(values, {3}), executor);
  if (there.to_vector<float>() != values) return false;
  // takes every program,
  if ((there + 1).to_vector<float>().size() != 3) return false;
  // and has no library, which `explain` tells.
  const Tensor square = ops::ones({2, 2}, DType::F32, executor);
  const std::string said = explain(ops::matmul(square, square));
  return said.find("by programs: the device has no library") != std::string::npos;
}

int run() {
  const BackendType mine = register_backend("mine", backends::null::make);
  if (name_of(mine) != "mine" || parse_backend("mine") != mine) return 1;
  bool listed = false;
  for (const BackendReport& report : discover_backends())
    listed |= report.type == mine && report.devices.size() == 1;
  if (!listed || backend_summary().find("mine") == std::string::npos) return 2;
  if (!works(Executor(mine), mine)) return 3;
  if (!works(Executor::builder().backend("mine").build(), mine)) return 4;
  setenv("HOLOGRAM_BACKEND", "mine", 1);
  if (!works(Executor(), mine)) return 5;
  unsetenv("HOLOGRAM_BACKEND");
  if (Executor().device().backend == mine) return 6;  // it has to be named
  try {
    register_backend("other", backends::null::make, kBackendInterface + 1);
    return 7;
  } catch (const Error& e) {
    return e.kind() == ErrorKind::InvalidConfig ? 0 : 8;
  }
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 9;
  }
}
