#include "libraries/hiprtc/hiprtc.hpp"

#include <fmt/format.h>

#include "libraries/library.hpp"

namespace hologram::libraries::hiprtc {
namespace {

constexpr const char* kVariable = "HOLOGRAM_HIPRTC_LIBRARY";

}  // namespace

const Hiprtc& Hiprtc::instance(int hip_version) {
  static const auto* const compiler = new Hiprtc(hip_version);
  return *compiler;
}

Hiprtc::Hiprtc(int hip_version) : RuntimeCompiler("hipRTC") {
  const int major = hip_version / 10'000'000, minor = hip_version / 100'000 % 100;
#ifdef _WIN32
  const std::string file = fmt::format("hiprtc{:02}{:02}.dll", major, minor);
  const core::DynamicLibrary library = open(kVariable, {file.c_str()});
#else
  // HIP 5 may have it in its own library.
  const std::string file = fmt::format("libhiprtc.so.{}", major), folder = "/opt/rocm/lib/" + file,
                    hip = fmt::format("libamdhip64.so.{}", major);
  const core::DynamicLibrary library = open(kVariable, {file.c_str(), folder.c_str(), hip.c_str()});
#endif
  if (!library.loaded()) {
    reason_ = fmt::format(
        "hipRTC, which compiles programs, is not found ({}): it comes with ROCm, and {} may say "
        "where it is",
        library.reason(), kVariable);
    return;
  }
  std::string missing;
#define HOLOGRAM_FIND(member, symbol) library.get(#symbol, functions_.member, missing);
  HOLOGRAM_HIPRTC(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!missing.empty()) {
    reason_ = fmt::format("hipRTC is too old: it lacks {}", missing);
    return;
  }
  // It says 9.0 of itself, whichever it is.
  version_ = fmt::format("{}.{}.{}", major, minor, hip_version % 100'000);
}

hal::Expected<std::vector<std::byte>> Hiprtc::compile(const std::string& text,
                                                      const std::string& architecture,
                                                      const std::vector<std::string>& flags) const {
  return RuntimeCompiler::compile(functions_, text, "--offload-arch=" + architecture, flags);
}

}  // namespace hologram::libraries::hiprtc
