#include "fusion/epilogue.hpp"

#include <algorithm>

#include "fusion/terms.hpp"
#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

const ElementwiseOp& relu() {
  static const ElementwiseOp& row = elementwise("relu");
  return row;
}
const ElementwiseOp& add() {
  static const ElementwiseOp& row = elementwise("add");
  return row;
}

// All of the input, as it lies in memory.
bool is_whole(const Input& input) {
  const View view = input.view();
  return is_dense(view) && element_count(view.shape) == element_count(input.node->shape);
}

bool is_lazy(const Node& node) {
  return node.state.load(std::memory_order_acquire) == NodeState::Lazy;
}

bool is_product(const Input& input) {
  return input.node->kind == Kind::Opaque && is_lazy(*input.node) && is_whole(input);
}

// One number a column of the product, side by side.
bool is_bias(const Input& input, const Node& product) {
  const View view = input.view();
  if (input.node.get() == &product || input.node->dtype != product.dtype || view.shape.empty() ||
      view.shape.back() != product.shape.back())
    return false;
  const size_t columns = view.shape.size() - 1;
  for (size_t k = 0; k < columns; k++)
    if (view.shape[k] != 1 && view.strides[k] != 0) return false;
  return view.shape[columns] == 1 || view.strides[columns] == 1;
}

}  // namespace

std::optional<Epilogue> epilogue_of(Node& last) {
  Epilogue epilogue;
  epilogue.last = &last;
  Node* at = &last;
  const auto is = [&](const ElementwiseOp& op) {
    return at->kind == Kind::Elementwise && at->op == &op && is_lazy(*at);
  };
  if (is(relu())) {
    epilogue.relu = true;
    epilogue.members.push_back(at);
    if (!is_whole(at->inputs[0])) return {};
    at = at->inputs[0].node.get();
  }
  if (is(add())) {
    epilogue.members.push_back(at);
    const size_t product = is_product(at->inputs[0]) ? 0 : 1;
    const Input &sums = at->inputs[product], &bias = at->inputs[1 - product];
    if (!is_product(sums) || !is_bias(bias, *sums.node)) return {};
    epilogue.bias = &bias;
    at = sums.node.get();
  }
  if (epilogue.members.empty() || at->kind != Kind::Opaque || !is_lazy(*at) ||
      at->dtype != last.dtype)
    return {};
  epilogue.product = at;
  return epilogue;
}

Kernel kernel_of(const Epilogue& epilogue) {
  Draft draft;
  const View whole = dense_view(epilogue.last->shape);
  draft.domain = epilogue.last->shape;
  draft.members = epilogue.members;
  draft.roots.push_back({epilogue.last, whole, epilogue.last, whole});
  return build_terms(draft, [&](const Node& node) {
    return std::find(epilogue.members.begin(), epilogue.members.end(), &node) !=
           epilogue.members.end();
  });
}

}  // namespace hologram::graph
