// OpenBLAS: products of f64, and of f32.
#pragma once

#include "libraries/library.hpp"
#include "libraries/openblas/api.hpp"

namespace hologram::libraries::openblas {

class OpenBlas : public HostLibrary {
 public:
  explicit OpenBlas(const core::DynamicLibrary& library);
  static OpenBlas& instance();  // from where the system or HOLOGRAM_OPENBLAS_LIBRARY says

  std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc) const override;
  std::string routine(const hal::GemmDesc& desc) const override;
  void multiply(const hal::GemmDesc& desc, const Tile& tile) const override;
  void begin() const override;
  void end() const override;

 private:
  Gemm<float>* sgemm_ = nullptr;
  Gemm<double>* dgemm_ = nullptr;
  GetNumThreads* get_threads_ = nullptr;
  SetNumThreads* set_threads_ = nullptr;
};

}  // namespace hologram::libraries::openblas
