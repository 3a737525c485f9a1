// How a tensor would be computed, and, for as long as it lives, the memory of what it starts from.
#pragma once

#include <optional>

#include "engine/plan.hpp"
#include "tensor/access.hpp"

namespace hologram::tests {

class Scheduled {
 public:
  explicit Scheduled(const Tensor& tensor, const graph::ScheduleOptions& options = {})
      : tensor_(tensor) {
    above_.walk(std::vector<graph::Node*>{tensor::Access::node(tensor_).get()}, false);
    planned_ = graph::plan_of(above_, options, false);
    if (planned_.plan.lowered != nullptr) run_.emplace(*planned_.plan.lowered, above_.nodes());
  }
  const std::vector<graph::Step>& steps() const { return planned_.schedule.steps; }

 private:
  const Tensor tensor_;
  graph::GraphSignature above_;
  graph::Planned planned_;
  std::optional<graph::Lowered::Run> run_;
};

}  // namespace hologram::tests
