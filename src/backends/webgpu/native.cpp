// WebGPU as a library of the machine.
#include <fmt/format.h>

#include "backends/webgpu/driver.hpp"
#include "libraries/library.hpp"

namespace hologram::backends::webgpu {

std::string load(Api& api, std::string& name) {
  const core::DynamicLibrary library =
      libraries::open("HOLOGRAM_WEBGPU_LIBRARY", {"libwebgpu_dawn.so", "libwgpu_native.so"});
  if (!library.loaded()) return fmt::format("there is no WebGPU library ({})", library.reason());
  name = library.path();
  std::string missing;
#define CALL(name) library.get(#name, api.name, missing);
  HOLOGRAM_WEBGPU_CALLS(CALL)
#undef CALL
  // The interface changed under the same names, and there is no call that tells the version. This
  // one, which is not used, came after the last change.
  if (missing.empty() && library.get<void()>("wgpuInstanceGetWGSLLanguageFeatures") == nullptr)
    missing = "wgpuInstanceGetWGSLLanguageFeatures";
  // wgpu-native has functions that end the process, as they are not written yet; it alone tells its
  // version.
  if (library.get<void>("wgpuGetVersion") == nullptr) {
#define CALL(name) api.name = library.get<call::name>(#name);
    HOLOGRAM_WEBGPU_CALLS_OF_SOME(CALL)
    HOLOGRAM_WEBGPU_CALLS_OF_DAWN(CALL)
#undef CALL
  }
  if (missing.empty()) return {};
  return fmt::format("{} has another version of WebGPU's interface: it lacks {}", name, missing);
}

}  // namespace hologram::backends::webgpu
