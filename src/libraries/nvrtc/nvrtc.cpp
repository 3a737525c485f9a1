#include "libraries/nvrtc/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "libraries/of_vendors.hpp"

namespace hologram::libraries::nvrtc {
namespace {

constexpr const char* kVariable = "HOLOGRAM_NVRTC_LIBRARY";

constexpr CudaRelease kReleases[] = {
    {13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};

}  // namespace

const Nvrtc& Nvrtc::instance(int driver_major) {
  static const auto* const compiler = new Nvrtc(driver_major);
  return *compiler;
}

Nvrtc::Nvrtc(int driver_major) : RuntimeCompiler("NVRTC") {
  const core::DynamicLibrary library = open_of_cuda(kVariable, kReleases, driver_major);
  if (!library.loaded()) {
    reason_ = fmt::format(
        "NVRTC, which compiles programs, is not found ({}): it comes with the CUDA toolkit and as "
        "a Python package, and {} may say where it is",
        library.reason(), kVariable);
    return;
  }
  std::string missing;
#define HOLOGRAM_FIND(member, symbol, parameters) \
  library.get<Status parameters>(#symbol, functions_.member, missing);
  HOLOGRAM_NVRTC(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!missing.empty()) {
    reason_ = fmt::format("NVRTC is too old: it lacks {}", missing);
    return;
  }
  int major = 0, minor = 0, count = 0;
  functions_.version(&major, &minor);
  functions_.architecture_count(&count);
  known_.resize(static_cast<size_t>(std::max(count, 0)));
  functions_.architectures(known_.data());
  std::sort(known_.begin(), known_.end());
  version_ = fmt::format("{}.{}", major, minor);
  if (known_.empty()) reason_ = fmt::format("NVRTC {} compiles for no device", version_);
}

hal::Expected<Architecture> Nvrtc::architecture(int capability) const {
  const auto above = std::upper_bound(known_.begin(), known_.end(), capability);
  if (above == known_.begin())
    return hal::Refusal{
        fmt::format("its compute capability {}.{} is below {}.{}, the least of NVRTC {}",
                    capability / 10, capability % 10, *above / 10, *above % 10, version_)};
  const int best = *std::prev(above);
  return fmt::format("{}{}", best == capability ? "sm_" : "compute_", best);
}

hal::Expected<std::vector<std::byte>> Nvrtc::compile(const std::string& text,
                                                     const Architecture& architecture,
                                                     const std::vector<std::string>& flags) const {
  const bool machine = architecture.rfind("sm_", 0) == 0;
  const CompilerFunctions functions = {
      .create = functions_.create,
      .destroy = functions_.destroy,
      .compile = functions_.compile,
      .log_size = functions_.log_size,
      .log = functions_.log,
      .code_size = machine ? functions_.cubin_size : functions_.ptx_size,
      .code = machine ? functions_.cubin : functions_.ptx};
  return RuntimeCompiler::compile(functions, text, "--gpu-architecture=" + architecture, flags);
}

}  // namespace hologram::libraries::nvrtc
