// HIP, and AMD's GPUs.
#pragma once

#include <memory>
#include <string>

#include "backends/driver/gpu.hpp"
#include "backends/rocm/api.hpp"
#include "libraries/blaslt/blaslt.hpp"
#include "libraries/rocblas/rocblas.hpp"

namespace hologram::backends::rocm {

// A launch has fewer threads than 2^32; the kernels' blocks share out what is more.
inline constexpr driver::Platform kPlatform = {.backend = BackendType::Rocm,
                                               .name = "HIP",
                                               .no_device = "no AMD GPU found",
                                               .language = dialects::Language::Hip,
                                               .cache = "rocm",
                                               .most_threads = UINT32_MAX};

// What of the way to a GPU is missing before HIP could see one, as the system tells it; empty if
// nothing is, or if that is not known.
std::string missing_step();
// Whether the environment says which library HIP is.
bool is_named();

class HipDriver final : public driver::Driver {
 public:
  // From where the system, ROCm's own folder or HOLOGRAM_HIP_LIBRARY says, by the first call.
  static const HipDriver& instance();

  std::string release() const override;
  const HipFunctions& own() const { return own_; }

 private:
  HipDriver();
  std::unique_ptr<driver::Gpu> make(int index, driver::DeviceNumber device,
                                    driver::Context context) const override;

  HipFunctions own_;
};

// AMD's libraries of products, for the HIP that is in use.
const libraries::blaslt::BlasLt& the_hipblaslt();
const libraries::rocblas::RocBlas& the_rocblas();

class HipGpu final : public driver::Gpu {
 public:
  HipGpu(const HipDriver& driver, int index, driver::DeviceNumber device);

  libraries::blaslt::Products& products() { return products_; }
  // Of rocBLAS, which knows no features of an architecture.
  hal::Expected<std::shared_ptr<libraries::GpuPlan>> plan_by_rocblas(const hal::GemmDesc& desc) {
    return rocblas_.plan(desc, architecture_.substr(0, architecture_.find(':')));
  }

 private:
  // Waits for the device's own stream, on which libraries make what they keep ready.
  bool settle() const;
  void describe(DeviceInfo& info) const override;
  void forget(driver::NativeStream stream) override {
    products_.forget(stream);
    rocblas_.forget(stream);
  }
  uint64_t free_memory_at(const std::string& pci) const override;

  int wave_ = 0;  // lanes
  libraries::blaslt::Products products_;
  libraries::rocblas::Products rocblas_;
};

}  // namespace hologram::backends::rocm
