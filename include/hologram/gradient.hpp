// Gradients of functions of tensors.
//
//   auto [loss, gradients] = value_and_gradient(
//       [&](const Tensor& w) { return ops::mean(ops::square(ops::matmul(x, w) - y)); }, w);
//   w -= 0.1 * gradients[0];
//
// The function runs once, on stand-ins for its inputs; what it computes from them is recorded, and
// gone through backwards then. Reading a value inside, evaluating, `+=` and views are all right;
// what is made of a value that was read is a constant, and so is every tensor that the function
// closes over. Gradients are tensors as lazy as any other, made of the same operations: they fuse,
// run on every device with the same bits, can be captured, and have gradients themselves. The order
// of all additions follows from the order of the calls.
//
// By integers, by bool, and through what has no slope (comparisons, rounding, indices, random
// numbers) there is none: such results are constants. Where a function has a corner,
// docs/tensors.md says what is chosen; equal extreme elements share, as in PyTorch. Only operations
// that this thread calls are recorded.
#pragma once

#include <functional>

#include "hologram/tensor.hpp"

namespace hologram {

// From a list of tensors to others.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct ValueAndGradient {
  Tensor value;
  std::vector<Tensor> gradients;  // one for each input, of its shape and dtype
};

// The value of a function of these inputs, and its gradient by each. The function gives one number,
// in a tensor of one element. DTypeMismatch for inputs or a value that are no floats, ShapeMismatch
// for a value of more elements.
HOLOGRAM_API ValueAndGradient
value_and_gradient(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                   const std::vector<Tensor>& inputs);
HOLOGRAM_API std::vector<Tensor> gradient(
    const std::function<Tensor(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs);

// The values of a function, and a function from their cotangents (one for each value, of its shape
// and dtype) to the inputs': the product with the transposed Jacobian. It may be called any number
// of times.
struct Vjp {
  std::vector<Tensor> values;
  TensorFunction pullback;
};
HOLOGRAM_API Vjp vjp(const TensorFunction& function, const std::vector<Tensor>& inputs);

// The values of a function, and how they change as the inputs do by these tangents, which have the
// inputs' shapes: the product with the Jacobian.
struct Jvp {
  std::vector<Tensor> values, tangents;
};
HOLOGRAM_API Jvp jvp(const TensorFunction& function, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& tangents);

// The same value, as a constant.
HOLOGRAM_API Tensor stop_gradient(const Tensor& x);

// The function with another gradient: `backward` gets the inputs, the results and their cotangents,
// and gives one cotangent for each input (an empty Tensor: none). Nothing else is differentiated
// by: tensors that the function closes over are constants.
using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs,
                                                   const std::vector<Tensor>& results,
                                                   const std::vector<Tensor>& cotangents)>;
HOLOGRAM_API TensorFunction custom_gradient(TensorFunction function, Backward backward);

// The function, which keeps nothing of its inside for the gradient, and runs once more when that is
// computed: less memory for more work. It must give the same again; random numbers have to come
// from a generator that it is given (creation.hpp).
HOLOGRAM_API TensorFunction checkpoint(TensorFunction function);

namespace detail {
template <class F, class... Inputs, size_t... I>
ValueAndGradient value_and_gradient(F& function, std::index_sequence<I...>,
                                    const Inputs&... inputs) {
  return hologram::value_and_gradient(
      [&](const std::vector<Tensor>& x) -> Tensor { return function(x[I]...); }, {inputs...});
}
}  // namespace detail

// The same of a function of so many tensors.
template <class F, class... Inputs>
requires(sizeof...(Inputs) > 0 && (std::is_same_v<Inputs, Tensor> && ...)) ValueAndGradient
    value_and_gradient(F function, const Inputs&... inputs) {
  return detail::value_and_gradient(function, std::index_sequence_for<Inputs...>(), inputs...);
}
template <class F, class... Inputs>
requires(sizeof...(Inputs) > 0 && (std::is_same_v<Inputs, Tensor> &&
                                   ...)) std::vector<Tensor> gradient(F function,
                                                                      const Inputs&... inputs) {
  return value_and_gradient(std::move(function), inputs...).gradients;
}

}  // namespace hologram
