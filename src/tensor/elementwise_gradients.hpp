// The gradients of elementwise operations, from the formulas in the table.
#pragma once

#include <span>

#include "graph/elementwise.hpp"
#include "tensor/tape.hpp"

namespace hologram::tensor {

// What formulas are about. What none of those that are wanted names is undefined.
struct Saved {
  Tensors operands;
  Tensor out;
  InlineVector<double, 2> attributes;
};

struct ElementwiseGradient {
  using Formula = Tensor (*)(const Saved& s, const Tensor& g);
  static constexpr uint32_t kOut = 1 << 3;
  Formula formula = nullptr;  // null: nothing comes back
  uint32_t names = 0;         // a bit for each operand, and kOut
};
using ElementwiseGradients = std::array<ElementwiseGradient, 3>;

// Row by row of the table.
std::span<const ElementwiseGradients> elementwise_gradients();

void record_elementwise(const graph::ElementwiseOp& op, std::span<const double> attributes,
                        Tensors operands, const Tensor& result);

// Formulas too long for a row: by x of gelu, gelu_tanh and lgamma; by one of the sides of atan2,
// where `other` is the other one.
Tensor digamma(const Tensor& x);
Tensor slope_of_gelu(const Tensor& x);
Tensor slope_of_gelu_tanh(const Tensor& x);
Tensor slope_of_angle(const Tensor& g, const Tensor& other, const Tensor& side);

}  // namespace hologram::tensor
