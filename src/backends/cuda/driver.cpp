#include "backends/cuda/driver.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "libraries/library.hpp"
#include "libraries/nvrtc/nvrtc.hpp"

namespace hologram::backends::cuda {
namespace {

using libraries::nvrtc::Architecture;
using libraries::nvrtc::Nvrtc;

struct NvmlMemory {
  unsigned long long total, free, used;
};

}  // namespace

const CudaDriver& CudaDriver::instance() {
  static const auto* const driver = new CudaDriver;
  return *driver;
}

CudaDriver::CudaDriver() : Driver(kPlatform) {
  const core::DynamicLibrary library =
      libraries::open("HOLOGRAM_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"});
  if (!library.loaded()) {
    reason_ = fmt::format("the NVIDIA driver is not installed ({})", library.reason());
    return;
  }
  std::string missing;
#define HOLOGRAM_FIND(member, symbol) library.get(#symbol, functions_.member, missing);
  HOLOGRAM_CUDA_DRIVER(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  std::string newer;
#define HOLOGRAM_FIND(member, symbol) library.get(#symbol, functions_.member, newer);
  HOLOGRAM_CUDA_NEWER_DRIVER(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (missing.empty()) start("the NVIDIA driver");
  else reason_ = fmt::format("the NVIDIA driver is too old: it lacks {}", missing);
}

std::string CudaDriver::release() const {
  return fmt::format("CUDA {}.{}", major(), version() % 1000 / 10);
}

std::unique_ptr<driver::Gpu> CudaDriver::make(int index, driver::DeviceNumber device,
                                              driver::Context context) const {
  return std::make_unique<CudaGpu>(*this, index, device, context);
}

CudaGpu::CudaGpu(const CudaDriver& driver, int index, driver::DeviceNumber device,
                 driver::Context context)
    : Gpu(driver, Nvrtc::instance(driver.major()), index, device, context),
      products_([&driver]() -> const libraries::blaslt::BlasLt& {
        return libraries::blaslt::BlasLt::of_cuda(driver.major());
      }),
      convolutions_(driver.major()),
      attentions_(driver.major()) {
  if (!unusable_.empty()) return;
  auto architecture =
      Nvrtc::instance(driver.major()).architecture(attribute(kMajor) * 10 + attribute(kMinor));
  if (auto* refusal = std::get_if<hal::Refusal>(&architecture)) {
    unusable_ = refusal->reason;
    return;
  }
  architecture_ = std::get<Architecture>(architecture);
  // As printed kernels ask of what they are compiled for.
  constexpr int kWaiting = 90;
  const int version = std::atoi(architecture_.c_str() + architecture_.find('_') + 1);
  kernels_wait_ = version >= kWaiting && driver->launch_with != nullptr;
}

void CudaGpu::describe(DeviceInfo& info) const {
  info.compute_capability = fmt::format("{}.{}", attribute(kMajor), attribute(kMinor));
}

// Of the library that tells it without starting the device.
uint64_t CudaGpu::free_memory_at(const std::string& pci) const {
  static const core::DynamicLibrary library({"libnvidia-ml.so.1"});
  static auto* const init = library.get<int()>("nvmlInit_v2");
  static auto* const find =
      library.get<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  static auto* const ask = library.get<int(void*, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  if (init == nullptr || find == nullptr || ask == nullptr) return 0;
  static const bool ready = init() == 0;
  void* device = nullptr;
  NvmlMemory memory{};
  const bool known = ready && find(pci.c_str(), &device) == 0 && ask(device, &memory) == 0;
  return known ? memory.free : 0;
}

}  // namespace hologram::backends::cuda
