// Convolutions by cuDNN.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "libraries/cudnn/session.hpp"
#include "libraries/gpu_plan.hpp"
#include "libraries/images.hpp"

namespace hologram::libraries::cudnn {

// A convolution with an engine for it.
class ConvolutionPlan final : public GpuPlan {
 public:
  uint64_t workspace() const override { return engine_->workspace; }
  std::optional<Failure> run(std::span<void* const> operands, void* workspace,
                             void* stream) const override;
  void require_inside(std::span<const hal::Binding> operands) const override;
  const char* variable() const override { return kVariable; }
  const std::shared_ptr<const std::string>& shared_name() const override { return name_; }

 private:
  friend class Convolutions;
  ConvolutionPlan(const Session& session, const hal::ConvDesc& desc, const Manner& manner);
  Status prepare();
  Status judge(const Object& config) const;

  const Session& session_;
  const hal::ConvDesc desc_;
  const Manner manner_;
  const std::shared_ptr<const std::string> name_;
  // What the plan is made of, in this order.
  Object x_, w_, y_, convolution_, forward_, graph_;
  std::optional<Engine> engine_;
};

// The convolutions of one device: each is planned once. Thread-safe.
class Convolutions {
 public:
  explicit Convolutions(int driver_major) : driver_major_(driver_major) {}

  // The device's context is current. What is refused for want of the library, or because a call of
  // it failed, is a fallback.
  hal::Expected<std::shared_ptr<ConvolutionPlan>> plan(const hal::ConvDesc& desc,
                                                       const Manner& manner);

 private:
  using Planned = hal::Expected<std::shared_ptr<ConvolutionPlan>>;
  // And how operands are aligned, and the manner.
  using Key = std::pair<ConvNumbers, std::array<uint32_t, 4>>;
  Planned make(const hal::ConvDesc& desc, const Manner& manner, const Key& key);

  const int driver_major_;
  std::mutex mutex_;
  std::unique_ptr<Session> session_;
  std::map<Key, Planned> known_;
};

}  // namespace hologram::libraries::cudnn
