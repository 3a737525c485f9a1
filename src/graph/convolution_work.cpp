#include "graph/convolution_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/context.hpp"
#include "libraries/convolution.hpp"

namespace hologram::graph {
namespace {

// The part of the memory from where the view begins.
hal::Binding from(const Input& input) {
  hal::Binding where = input.node->result.where;
  const uint64_t skipped = static_cast<uint64_t>(input.view.offset) * size_of(input.node->dtype);
  where.offset += skipped;
  where.size -= skipped;
  return where;
}

class ConvolutionWork : public Work {
 public:
  explicit ConvolutionWork(const hal::ConvDesc& desc) : desc_(desc) {}
  std::string_view name() const override { return "conv2d"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    hal::ConvDesc desc = desc_;
    const View &x = node.inputs[0].view, &w = node.inputs[1].view;
    std::copy_n(x.strides.begin(), 4, desc.x_strides.begin());
    std::copy_n(w.strides.begin(), 4, desc.w_strides.begin());
    if (!by_library(context, desc, node, result)) by_program(context, desc, node, result);
  }

 private:
  static bool by_library(Context& context, const hal::ConvDesc& desc, const Node& node,
                         const Storage& result) {
    hal::LibraryOps* library = context.executor().device->library();
    if (library == nullptr) return false;
    auto planned = library->plan(desc);
    if (const auto* refusal = std::get_if<hal::Refusal>(&planned)) {
      if (refusal->missed) context.fall_back("conv2d", refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("conv2d by a program: {}", refusal->reason));
      return false;
    }
    const auto& plan = *std::get<std::shared_ptr<hal::LibraryPlan>>(planned);
    const Storage workspace = plan.workspace() > 0 ? context.allocate(plan.workspace()) : Storage{};
    Storage fresh;  // weights that are packed for this call alone
    const hal::Binding w = plan.packing() == nullptr
                               ? from(node.inputs[1])
                               : packed(context, plan.packing(), node.inputs[1], fresh);
    const hal::Binding operands[] = {from(node.inputs[0]), w, result.where};
    context.call(plan, operands, workspace.where);
    return true;
  }

  // The weights as the library wants them. They are kept with the weights, so that the next
  // convolution finds them, unless the weights' node stands for another value at each launch.
  static hal::Binding packed(Context& context, std::shared_ptr<const hal::LibraryPlan> packing,
                             const Input& weights, Storage& fresh) {
    Node& node = *weights.node;
    const bool stays = !node.traced;
    if (stays && node.packed != nullptr && node.packed->packing == packing &&
        node.packed->offset == weights.view.offset)
      return node.packed->result.where;
    fresh = context.allocate(packing->packed_bytes());
    const Storage workspace = context.allocate(packing->workspace());
    const hal::Binding operands[] = {from(weights), fresh.where};
    context.call(*packing, operands, workspace.where);
    if (stays)
      node.packed =
          std::make_unique<const Packed>(Packed{std::move(packing), weights.view.offset, fresh});
    return fresh.where;
  }

  static void by_program(Context& context, const hal::ConvDesc& desc, const Node& node,
                         const Storage& result) {
    const libraries::ConvLaunch launch =
        libraries::convolution_launch(desc, node.inputs[0].view.offset, node.inputs[1].view.offset);
    const hal::Binding operands[] = {node.inputs[0].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    context.launch(context.kept("convolution", launch.key,
                                [&] { return libraries::convolution_program(launch.key); }),
                   launch.grid, operands, launch.scalars);
  }

  const hal::ConvDesc desc_;  // without the strides
};

}  // namespace

std::unique_ptr<const Work> convolution_work(const hal::ConvDesc& desc) {
  return std::make_unique<ConvolutionWork>(desc);
}

}  // namespace hologram::graph
