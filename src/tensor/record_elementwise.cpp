#include <numbers>

#include "hologram/ops.hpp"
#include "tensor/elementwise_gradients.hpp"

namespace hologram::tensor {

void record_elementwise(const graph::ElementwiseOp& op, std::span<const double> attributes,
                        Tensors operands, const Tensor& result) {
  const auto table = graph::elementwise_table();
  if (&op < table.data() || &op >= table.data() + table.size()) return;
  if (!is_float(result.dtype())) return;
  const ElementwiseGradients& row =
      elementwise_gradients()[static_cast<size_t>(&op - table.data())];
  uint32_t names = 0;
  for (size_t i = 0; i < operands.size(); i++)
    if (is_tracked(operands[i])) names |= row[i].names;
  Saved saved;
  for (size_t k = 0; k < op.attribute_count; k++)
    saved.attributes.push_back(k < attributes.size() ? attributes[k] : op.attributes[k].otherwise);
  for (size_t i = 0; i < operands.size(); i++)
    saved.operands.push_back((names >> i & 1) != 0 ? operands[i] : Tensor());
  if ((names & ElementwiseGradient::kOut) != 0) saved.out = result;
  record(operands, {result},
         [&row, saved = std::move(saved)](const Tensors& g, const Wanted& wanted) {
           Tensors back(wanted.size());
           for (size_t i = 0; i < wanted.size(); i++)
             if (wanted[i] && row[i].formula != nullptr) back[i] = row[i].formula(saved, g.front());
           return back;
         });
}

// Below 1/2 by reflection, else by ten steps of the recurrence and the asymptotic series there.
Tensor digamma(const Tensor& x) {
  constexpr int kSteps = 10;
  const Tensor mirrored = x < 0.5, at = ops::where(mirrored, 1 - x, x), far = at + kSteps;
  Tensor below = ops::zeros_like(x);
  for (int k = 0; k < kSteps; k++) below = below + 1 / (at + k);
  const Tensor inverse = 1 / far, s = inverse * inverse;
  Tensor series = s * (1.0 / 132);
  for (const double c : {1.0 / 240, 1.0 / 252, 1.0 / 120, 1.0 / 12}) series = s * (c - series);
  const Tensor y = ops::log(far) - 0.5 * inverse - series - below;
  return ops::where(mirrored, y - std::numbers::pi / ops::tan(std::numbers::pi * x), y);
}

Tensor slope_of_gelu(const Tensor& x) {
  constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return 0.5 * (1 + ops::erf(x * (1 / std::numbers::sqrt2))) +
         x * ops::exp(-0.5 * x * x) * kDensity;
}

Tensor slope_of_gelu_tanh(const Tensor& x) {
  constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCube = 0.044715;
  const Tensor t = ops::tanh(kScale * (x + kCube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kScale * (1 + 3 * kCube * x * x);
}

Tensor slope_of_angle(const Tensor& g, const Tensor& other, const Tensor& side) {
  const Tensor distance = ops::hypot(other, side);
  return ops::where(distance == 0, 0, g * (other / distance) / distance);
}

}  // namespace hologram::tensor
