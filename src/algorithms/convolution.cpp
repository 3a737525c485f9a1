#include "algorithms/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/weight_order.hpp"
#include "engine/context.hpp"
#include "libraries/convolution.hpp"

namespace hologram::graph {
namespace {

class ConvolutionOp : public OpaqueOp {
 public:
  explicit ConvolutionOp(const hal::ConvDesc& desc) : desc_(desc) {}
  std::string_view name() const override { return "conv2d"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const hal::ConvDesc desc = desc_of(node);
    if (!by_library(context, desc, node, result)) by_program(context, desc, node, result);
  }

  Candidates candidates(Context& context, const Node& node) const override {
    const hal::ConvDesc desc = desc_of(node);
    if (context.library() == nullptr) return context.candidates(desc);
    return context.candidates(asked(*context.library(), desc, kPooled, kPooled));
  }

 private:
  static constexpr uint32_t kPooled = 256;  // alignment of memory of the pool

  hal::ConvDesc desc_of(const Node& node) const {
    hal::ConvDesc desc = desc_;
    const View x = node.inputs[0].view(), w = node.inputs[1].view();
    std::copy_n(x.strides.begin(), 4, desc.x_strides.begin());
    std::copy_n(w.strides.begin(), 4, desc.w_strides.begin());
    return desc;
  }

  static bool orders_weights(hal::LibraryOps& library, const hal::ConvDesc& desc) {
    return library.wants_dense_images() && !lie_by_output(desc);
  }
  // With weights in the order that the library wants them in.
  static hal::ConvDesc asked(hal::LibraryOps& library, const hal::ConvDesc& desc,
                             uint32_t alignment_x, uint32_t alignment_w) {
    hal::ConvDesc asked = desc;
    const bool orders = orders_weights(library, desc);
    if (orders) asked.w_strides = strides_by_output(desc);
    asked.alignment_x = alignment_x;
    asked.alignment_w = orders ? kPooled : alignment_w;
    return asked;
  }

  static bool by_library(Context& context, const hal::ConvDesc& desc, const Node& node,
                         const Storage& result) {
    hal::LibraryOps* const library = context.library();
    if (library == nullptr) return false;
    const Input& weights = node.inputs[1];
    const bool orders = orders_weights(*library, desc);
    const hal::Binding x = node.inputs[0].where();
    const hal::ConvDesc asked_for =
        asked(*library, desc, hal::alignment_of(x), hal::alignment_of(weights.where()));
    auto planned = library->plan(asked_for);
    if (const auto* refusal = std::get_if<hal::Refusal>(&planned)) {
      if (refusal->is_fallback) context.fall_back("conv2d", refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("conv2d by a program: {}", refusal->reason));
      return false;
    }
    const auto plan = std::get<std::shared_ptr<hal::LibraryPlan>>(std::move(planned));
    const uint64_t room = plan->workspace();
    const Storage workspace = room > 0 ? context.allocate(room) : Storage{};
    Storage fresh;  // weights that are brought into another order for this call alone
    std::shared_ptr<const hal::LibraryPlan> packing = plan->packing();
    const hal::Binding w =
        orders || packing != nullptr
            ? kept(context, std::move(packing), weights, fresh,
                   [&](const std::shared_ptr<const hal::LibraryPlan>& packing) {
                     return packing == nullptr
                                ? ordered(context, asked_for, desc.w_strides, weights)
                                : packed(context, packing, weights);
                   })
            : weights.where();
    const hal::Binding operands[] = {x, w, result.where};
    const uint64_t outputs = result.where.size / size_of(desc.d);
    context.call(plan, operands, workspace.where,
                 {.bytes = static_cast<double>(x.size + w.size + result.where.size),
                  .flops = 2 * static_cast<double>(outputs) * static_cast<double>(desc.channels) *
                           static_cast<double>(desc.rows.kernel * desc.columns.kernel)});
    return true;
  }

  // The weights as the library wants them. They are kept with the weights, so that the next
  // convolution finds them; where the weights' node stands for a value of each launch, the library
  // looks whether it is another one.
  template <class Make>
  static hal::Binding kept(Context& context, std::shared_ptr<const hal::LibraryPlan> packing,
                           const Input& weights, Storage& fresh, const Make& make) {
    Node& node = *weights.node;
    if (node.traced) {
      // A parameter, whose values the next launch mostly finds as they are.
      auto keeping = node.kind == Kind::Data && packing != nullptr && !context.is_recording()
                         ? packing->keeping()
                         : nullptr;
      if (keeping != nullptr) return kept_by_value(context, std::move(keeping), weights);
      fresh = make(packing);
      return fresh.where;
    }
    if (node.packed == nullptr || node.packed->packing != packing ||
        node.packed->view != weights.view()) {
      fresh = context.run_eagerly([&] { return make(packing); });
      node.packed =
          std::make_unique<const Packed>(Packed{std::move(packing), weights.view(), fresh});
    }
    context.hold(node.packed->result);
    return node.packed->result.where;
  }

  static hal::Binding kept_by_value(Context& context,
                                    std::shared_ptr<const hal::LibraryPlan> keeping,
                                    const Input& weights) {
    Node& node = *weights.node;
    if (node.packed == nullptr || node.packed->packing != keeping ||
        node.packed->view != weights.view()) {
      node.packed.reset();
      const Storage room = context.allocate(keeping->packed_bytes());
      context.fill(room, 0);
      node.packed = std::make_unique<const Packed>(Packed{keeping, weights.view(), room});
    }
    const Storage workspace = context.allocate(keeping->workspace());
    const hal::Binding operands[] = {weights.where(), node.packed->result.where};
    context.call(keeping, operands, workspace.where);
    return node.packed->result.where;
  }

  static Storage packed(Context& context, const std::shared_ptr<const hal::LibraryPlan>& packing,
                        const Input& weights) {
    Storage made = context.allocate(packing->packed_bytes());
    const Storage workspace = context.allocate(packing->workspace());
    const hal::Binding operands[] = {weights.where(), made.where};
    context.call(packing, operands, workspace.where);
    return made;
  }

  static Storage ordered(Context& context, const hal::ConvDesc& desc,
                         const std::array<int64_t, 4>& strides, const Input& weights) {
    const WeightOrder order = weight_order(desc, strides, weights.offset());
    Storage made = context.allocate(order.bytes);
    const hal::Binding operands[] = {weights.node->result.where, made.where};
    context.launch(context.kept("order", order.key, [&] { return order_program(order.key); }),
                   order.grid, operands, order.scalars);
    return made;
  }

  static void by_program(Context& context, const hal::ConvDesc& desc, const Node& node,
                         const Storage& result) {
    const libraries::ConvLaunch launch =
        libraries::convolution_launch(desc, node.inputs[0].offset(), node.inputs[1].offset());
    const hal::Binding operands[] = {node.inputs[0].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    context.launch(context.kept("convolution", launch.key,
                                [&] { return libraries::convolution_program(launch.key); }),
                   launch.grid, operands, launch.scalars);
  }

  const hal::ConvDesc desc_;  // without the strides
};

}  // namespace

std::unique_ptr<const OpaqueOp> convolution_op(const hal::ConvDesc& desc) {
  return std::make_unique<ConvolutionOp>(desc);
}

}  // namespace hologram::graph
