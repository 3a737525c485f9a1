#include "hologram/kernels.hpp"

#include <mutex>

#include "core/messages.hpp"
#include "fusion/codegen.hpp"
#include "tensor/access.hpp"

namespace hologram {

std::vector<program::Program> kernels_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> kept;  // those that are views are copied by a kernel
  std::vector<graph::Node*> lazy;
  graph::Context* context = nullptr;
  for (const Tensor& t : tensors) {
    kept.push_back(tensor::dense(t));
    const graph::NodeRef node = tensor::Access::node(kept.back());
    if (node->state.load(std::memory_order_acquire) != graph::NodeState::Lazy) continue;
    if (context != nullptr && context != node->context)
      throw core::error(core::Text::OperandsApart, "kernels_of", context->device().name,
                        node->context->device().name);
    context = node->context;
    lazy.push_back(node.get());
  }
  std::vector<program::Program> programs;
  if (context == nullptr) return programs;
  graph::ScheduleOptions options;
  options.fusion = context->config().fusion;
  const std::lock_guard lock(context->mutex());
  graph::GraphSignature signature;
  signature.walk(lazy, false);
  const graph::Planned planned = graph::plan_of(signature, options, false);
  for (const graph::Step& step : planned.schedule.steps)
    if (step.opaque == nullptr)
      programs.push_back(graph::generate(
          step.kernel, graph::layout(step.kernel, graph::hints_of(context->device()))));
  return programs;
}

}  // namespace hologram
