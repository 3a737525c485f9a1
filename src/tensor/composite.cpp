#include "tensor/composite.hpp"

#include "tensor/precision.hpp"

namespace hologram::tensor {

using graph::View;

namespace {

thread_local bool is_lowering = false;

// What a function is made of is no user's call: no record, no policy, and no composites in it.
class Inside {
 public:
  Inside() = default;
  ~Inside() {
    is_lowering = before_;
    set_products(policy_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const Pause pause_;
  const bool before_ = std::exchange(is_lowering, true);
  const ProductPolicy* const policy_ = set_products(nullptr);
};

Tensors tensors_of(std::span<const graph::Input> inputs) {
  Tensors tensors;
  tensors.reserve(inputs.size());
  for (const graph::Input& input : inputs)
    tensors.push_back(input.part() == nullptr ? Access::make(input.node)
                                              : Access::make(input.node, input.view()));
  return tensors;
}

}  // namespace

graph::Input lower(Lowering lowering, const graph::Node& composite,
                   std::span<const graph::Input> inputs) {
  const Inside inside;
  return input_of(lowering(tensors_of(inputs), composite.meaning->numbers));
}

graph::Candidates candidates_of(Ways ways, const graph::Node& composite,
                                std::span<const graph::Input> inputs) {
  const Inside inside;
  return ways(tensors_of(inputs), composite.meaning->numbers);
}

Tensor meant(const graph::CompositeOp& op, DType dtype, const Shape& shape,
             std::initializer_list<Tensor> inputs, std::vector<int64_t> numbers) {
  auto node = std::make_unique<graph::Node>(graph::Kind::Composite, context_of(*inputs.begin()),
                                            dtype, shape);
  node->meaning = std::make_shared<graph::Meaning>(graph::Meaning{&op, std::move(numbers)});
  node->inputs.reserve(inputs.size());
  for (const Tensor& tensor : inputs) node->inputs.push_back(input_of(tensor));
  if (!is_lowering) return finish(std::move(node));
  const std::span<const graph::Input> all(node->inputs.begin(), node->inputs.size());
  graph::Input made = op.lower(*node, all);
  View view = made.view();
  const Tensor result = Access::make(std::move(made.node), std::move(view));
  return result.shape() == shape ? result : result.reshape(shape);
}

int64_t as_number(const AxisList& axes) {
  int64_t number = 0;
  for (const int axis : axes) number |= int64_t{1} << axis;
  return number;
}

AxisList as_axes(int64_t number) {
  AxisList axes;
  for (int axis = 0; axis < static_cast<int>(kMaxRank); axis++)
    if ((number >> axis & 1) != 0) axes.push_back(axis);
  return axes;
}

}  // namespace hologram::tensor
