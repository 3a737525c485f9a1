// oneDNN: products of f32, and of 8-bit integers into i32; convolutions of f32.
#pragma once

#include "libraries/library.hpp"
#include "libraries/onednn/api.hpp"

namespace hologram::libraries::onednn {

class Convolutions;

class OneDnn : public HostLibrary {
 public:
  explicit OneDnn(const core::DynamicLibrary& library);
  ~OneDnn() override;
  static OneDnn& instance();  // from where the system or HOLOGRAM_ONEDNN_LIBRARY says

  std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc) const override;
  std::string routine(const hal::GemmDesc& desc) const override;
  void multiply(const hal::GemmDesc& desc, const Tile& tile) const override;
  hal::Expected<std::shared_ptr<HostPlan>> plan(const hal::ConvDesc& desc) const override;

 private:
  int call(const hal::GemmDesc& desc, const Tile& tile) const;

  Sgemm* sgemm_ = nullptr;
  Igemm<int8_t>* s8_ = nullptr;
  Igemm<uint8_t>* u8_ = nullptr;
  OmpGetMaxThreads* max_threads_ = nullptr;
  OmpSetNumThreads* set_threads_ = nullptr;
  std::unique_ptr<Convolutions> convolutions_;
};

}  // namespace hologram::libraries::onednn
