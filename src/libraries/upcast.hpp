// Products of f16 and bf16 by way of f32: their elements are f32 values, sums are those of f32, and
// the result is rounded once.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "libraries/host_ops.hpp"
#include "libraries/matrix_view.hpp"

namespace hologram::libraries {

// Whether a product is one of narrow floats that is summed in f32.
bool can_widen(const hal::GemmDesc& desc);

// The product of f32 that takes its place: narrow operands lie in it as dense copies, but for a or
// b if these stay as they are.
hal::GemmDesc widen(const hal::GemmDesc& desc, bool a = true, bool b = true);

class UpcastPlan : public HostPlan {
 public:
  // `product` computes `wide`, which is widen(desc).
  UpcastPlan(std::shared_ptr<const HostPlan> product, const hal::GemmDesc& desc,
             const hal::GemmDesc& wide);
  const std::string& name() const override { return name_; }
  uint64_t workspace() const override { return workspace_; }
  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override;

 private:
  bool is_copied(size_t i) const { return narrow_[i].type != wide_[i].type; }

  std::shared_ptr<const HostPlan> product_;
  std::string name_;
  std::array<MatrixView, 3> narrow_, wide_;
  std::array<uint64_t, 3> at_ = {};      // of the copies in the workspace, in bytes
  uint64_t copies_ = 0, workspace_ = 0;  // bytes of the copies; with what the product needs
};

}  // namespace hologram::libraries
