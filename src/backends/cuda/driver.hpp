// CUDA's driver, and its GPUs with what libraries do on them.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/api.hpp"
#include "backends/cuda/epilogues.hpp"
#include "backends/driver/gpu.hpp"
#include "libraries/blaslt/blaslt.hpp"
#include "libraries/cudnn/attention.hpp"
#include "libraries/cudnn/convolution.hpp"

namespace hologram::backends::cuda {

inline constexpr driver::Platform kPlatform = {.backend = BackendType::Cuda,
                                               .name = "CUDA",
                                               .no_device = "No CUDA-capable device found",
                                               .language = dialects::Language::Cuda,
                                               .cache = "cuda",
                                               .most_threads = UINT64_MAX};

class CudaDriver final : public driver::Driver {
 public:
  // From where the system or HOLOGRAM_CUDA_LIBRARY says, by the first call.
  static const CudaDriver& instance();

  int major() const { return version() / 1000; }  // of CUDA that it supports
  std::string release() const override;

 private:
  CudaDriver();
  std::unique_ptr<driver::Gpu> make(int index, driver::DeviceNumber device,
                                    driver::Context context) const override;
};

class CudaGpu final : public driver::Gpu {
 public:
  CudaGpu(const CudaDriver& driver, int index, driver::DeviceNumber device,
          driver::Context context);

  libraries::blaslt::Products& products() { return products_; }
  libraries::cudnn::Convolutions& convolutions() { return convolutions_; }
  libraries::cudnn::Attentions& attentions() { return attentions_; }
  Epilogues& epilogues() { return epilogues_; }

 private:
  void describe(DeviceInfo& info) const override;
  uint64_t free_memory_at(const std::string& pci) const override;

  libraries::blaslt::Products products_;
  libraries::cudnn::Convolutions convolutions_;
  libraries::cudnn::Attentions attentions_;
  Epilogues epilogues_;
};

}  // namespace hologram::backends::cuda
