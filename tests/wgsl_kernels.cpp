// wgsl_kernels FOLDER [N]: whether the compiler of a WebGPU library takes every text in a folder,
// or N of them, spread over all. Prints what it says against those that it does not take; no kernel
// runs. The library is the one that the tests find (webgpu_fixture.hpp); it needs an adapter.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dialects/webgpu.hpp"

using namespace hologram::dialects;

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "wgsl_kernels FOLDER [N]\n");
    return 2;
  }
  std::string reason;
  WebGpu* const device = WebGpu::get(reason);
  if (device == nullptr) {
    fmt::print(stderr, "{}\n", reason);
    return 3;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(argv[1]))
    if (file.path().extension() == ".wgsl") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  const size_t most = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : files.size();
  const size_t count = std::min(most, files.size());
  size_t failed = 0;
  for (size_t i = 0; i < count; i++) {
    std::ifstream in(files[i * files.size() / count]);
    Printed printed;
    printed.text.assign(std::istreambuf_iterator<char>(in), {});
    const std::string said = device->compile(printed);
    if (said.empty()) continue;
    if (failed++ < 5) fmt::print("{}\n", said);
  }
  fmt::print("{} of {} kernels compiled, {} failed\n", count, files.size(), failed);
  return failed == 0 && count > 0 ? 0 : 1;
}
