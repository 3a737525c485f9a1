#include "libraries/nvrtc/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "libraries/of_cuda.hpp"

namespace hologram::libraries::nvrtc {
namespace {

constexpr const char* kVariable = "HOLOGRAM_NVRTC_LIBRARY";
constexpr int kLogLines = 4;

constexpr CudaRelease kReleases[] = {
    {13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};

}  // namespace

const Nvrtc& Nvrtc::instance(int driver_major) {
  static const auto* const compiler = new Nvrtc(driver_major);
  return *compiler;
}

Nvrtc::Nvrtc(int driver_major) {
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
  const std::string target = "--gpu-architecture=" + architecture;
  std::vector<const char*> options = {target.c_str()};
  for (const std::string& flag : flags) options.push_back(flag.c_str());

  struct Job {
    const Functions& functions;
    Compilation handle = nullptr;
    ~Job() { functions.destroy(&handle); }
  } job{functions_};
  const auto fetch = [&](auto get_size, auto get) {
    size_t bytes = 0;
    get_size(job.handle, &bytes);
    std::vector<std::byte> result(bytes);
    const bool good = bytes > 0 && get(job.handle, reinterpret_cast<char*>(result.data())) == 0;
    return good ? result : std::vector<std::byte>();
  };
  Status status = functions_.create(&job.handle, text.c_str(), "program.cu", 0, nullptr, nullptr);
  if (status == 0)
    status = functions_.compile(job.handle, static_cast<int>(options.size()), options.data());
  if (status == 0) {
    const bool machine = architecture.rfind("sm_", 0) == 0;
    std::vector<std::byte> code = machine ? fetch(functions_.cubin_size, functions_.cubin)
                                          : fetch(functions_.ptx_size, functions_.ptx);
    if (!code.empty()) return code;
  }
  const std::vector<std::byte> log = fetch(functions_.log_size, functions_.log);
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(log.data()), log.empty() ? 0 : log.size() - 1));
  std::string first = fmt::format("NVRTC {}, status {}", version_, status);
  std::string line;
  for (int i = 0; i < kLogLines && std::getline(lines, line); i++) first += '\n' + line;
  return hal::Refusal{first};
}

}  // namespace hologram::libraries::nvrtc
