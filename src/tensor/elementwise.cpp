// Written by scripts/generate from src/graph/elementwise.cpp.
#include "hologram/elementwise.hpp"

#include "graph/elementwise.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

// clang-format off
Tensor add(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[0], std::array<const Operand*, 2>{&a, &b}); }
Tensor sub(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[1], std::array<const Operand*, 2>{&a, &b}); }
Tensor mul(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[2], std::array<const Operand*, 2>{&a, &b}); }
Tensor div(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[3], std::array<const Operand*, 2>{&a, &b}); }
Tensor floor_div(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[4], std::array<const Operand*, 2>{&a, &b}); }
Tensor rem(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[5], std::array<const Operand*, 2>{&a, &b}); }
Tensor neg(const Operand& x) { return tensor::apply(graph::elementwise_table()[6], std::array<const Operand*, 1>{&x}); }
Tensor abs(const Operand& x) { return tensor::apply(graph::elementwise_table()[7], std::array<const Operand*, 1>{&x}); }
Tensor sign(const Operand& x) { return tensor::apply(graph::elementwise_table()[8], std::array<const Operand*, 1>{&x}); }
Tensor copysign(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[9], std::array<const Operand*, 2>{&a, &b}); }
Tensor minimum(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[10], std::array<const Operand*, 2>{&a, &b}); }
Tensor maximum(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[11], std::array<const Operand*, 2>{&a, &b}); }
Tensor clamp(const Operand& x, const Operand& low, const Operand& high) { return tensor::apply(graph::elementwise_table()[12], std::array<const Operand*, 3>{&x, &low, &high}); }
Tensor mad(const Operand& a, const Operand& b, const Operand& c) { return tensor::apply(graph::elementwise_table()[13], std::array<const Operand*, 3>{&a, &b, &c}); }
Tensor fma(const Operand& a, const Operand& b, const Operand& c) { return tensor::apply(graph::elementwise_table()[14], std::array<const Operand*, 3>{&a, &b, &c}); }
Tensor lerp(const Operand& a, const Operand& b, const Operand& weight) { return tensor::apply(graph::elementwise_table()[15], std::array<const Operand*, 3>{&a, &b, &weight}); }
Tensor floor(const Operand& x) { return tensor::apply(graph::elementwise_table()[16], std::array<const Operand*, 1>{&x}); }
Tensor ceil(const Operand& x) { return tensor::apply(graph::elementwise_table()[17], std::array<const Operand*, 1>{&x}); }
Tensor round(const Operand& x) { return tensor::apply(graph::elementwise_table()[18], std::array<const Operand*, 1>{&x}); }
Tensor trunc(const Operand& x) { return tensor::apply(graph::elementwise_table()[19], std::array<const Operand*, 1>{&x}); }
Tensor sqrt(const Operand& x) { return tensor::apply(graph::elementwise_table()[20], std::array<const Operand*, 1>{&x}); }
Tensor rsqrt(const Operand& x) { return tensor::apply(graph::elementwise_table()[21], std::array<const Operand*, 1>{&x}); }
Tensor square(const Operand& x) { return tensor::apply(graph::elementwise_table()[22], std::array<const Operand*, 1>{&x}); }
Tensor reciprocal(const Operand& x) { return tensor::apply(graph::elementwise_table()[23], std::array<const Operand*, 1>{&x}); }
Tensor pow(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[24], std::array<const Operand*, 2>{&a, &b}); }
Tensor cbrt(const Operand& x) { return tensor::apply(graph::elementwise_table()[25], std::array<const Operand*, 1>{&x}); }
Tensor hypot(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[26], std::array<const Operand*, 2>{&a, &b}); }
Tensor exp(const Operand& x) { return tensor::apply(graph::elementwise_table()[27], std::array<const Operand*, 1>{&x}); }
Tensor exp2(const Operand& x) { return tensor::apply(graph::elementwise_table()[28], std::array<const Operand*, 1>{&x}); }
Tensor expm1(const Operand& x) { return tensor::apply(graph::elementwise_table()[29], std::array<const Operand*, 1>{&x}); }
Tensor log(const Operand& x) { return tensor::apply(graph::elementwise_table()[30], std::array<const Operand*, 1>{&x}); }
Tensor log2(const Operand& x) { return tensor::apply(graph::elementwise_table()[31], std::array<const Operand*, 1>{&x}); }
Tensor log10(const Operand& x) { return tensor::apply(graph::elementwise_table()[32], std::array<const Operand*, 1>{&x}); }
Tensor log1p(const Operand& x) { return tensor::apply(graph::elementwise_table()[33], std::array<const Operand*, 1>{&x}); }
Tensor logaddexp(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[34], std::array<const Operand*, 2>{&a, &b}); }
Tensor sin(const Operand& x) { return tensor::apply(graph::elementwise_table()[35], std::array<const Operand*, 1>{&x}); }
Tensor cos(const Operand& x) { return tensor::apply(graph::elementwise_table()[36], std::array<const Operand*, 1>{&x}); }
Tensor tan(const Operand& x) { return tensor::apply(graph::elementwise_table()[37], std::array<const Operand*, 1>{&x}); }
Tensor asin(const Operand& x) { return tensor::apply(graph::elementwise_table()[38], std::array<const Operand*, 1>{&x}); }
Tensor acos(const Operand& x) { return tensor::apply(graph::elementwise_table()[39], std::array<const Operand*, 1>{&x}); }
Tensor atan(const Operand& x) { return tensor::apply(graph::elementwise_table()[40], std::array<const Operand*, 1>{&x}); }
Tensor atan2(const Operand& y, const Operand& x) { return tensor::apply(graph::elementwise_table()[41], std::array<const Operand*, 2>{&y, &x}); }
Tensor sinh(const Operand& x) { return tensor::apply(graph::elementwise_table()[42], std::array<const Operand*, 1>{&x}); }
Tensor cosh(const Operand& x) { return tensor::apply(graph::elementwise_table()[43], std::array<const Operand*, 1>{&x}); }
Tensor tanh(const Operand& x) { return tensor::apply(graph::elementwise_table()[44], std::array<const Operand*, 1>{&x}); }
Tensor asinh(const Operand& x) { return tensor::apply(graph::elementwise_table()[45], std::array<const Operand*, 1>{&x}); }
Tensor acosh(const Operand& x) { return tensor::apply(graph::elementwise_table()[46], std::array<const Operand*, 1>{&x}); }
Tensor atanh(const Operand& x) { return tensor::apply(graph::elementwise_table()[47], std::array<const Operand*, 1>{&x}); }
Tensor sinc(const Operand& x) { return tensor::apply(graph::elementwise_table()[48], std::array<const Operand*, 1>{&x}); }
Tensor erf(const Operand& x) { return tensor::apply(graph::elementwise_table()[49], std::array<const Operand*, 1>{&x}); }
Tensor erfinv(const Operand& x) { return tensor::apply(graph::elementwise_table()[50], std::array<const Operand*, 1>{&x}); }
Tensor lgamma(const Operand& x) { return tensor::apply(graph::elementwise_table()[51], std::array<const Operand*, 1>{&x}); }
Tensor sigmoid(const Operand& x) { return tensor::apply(graph::elementwise_table()[52], std::array<const Operand*, 1>{&x}); }
Tensor relu(const Operand& x) { return tensor::apply(graph::elementwise_table()[53], std::array<const Operand*, 1>{&x}); }
Tensor leaky_relu(const Operand& x, double negative_slope) { return tensor::apply(graph::elementwise_table()[54], std::array<const Operand*, 1>{&x}, std::array{negative_slope}); }
Tensor gelu(const Operand& x) { return tensor::apply(graph::elementwise_table()[55], std::array<const Operand*, 1>{&x}); }
Tensor gelu_tanh(const Operand& x) { return tensor::apply(graph::elementwise_table()[56], std::array<const Operand*, 1>{&x}); }
Tensor silu(const Operand& x) { return tensor::apply(graph::elementwise_table()[57], std::array<const Operand*, 1>{&x}); }
Tensor softplus(const Operand& x) { return tensor::apply(graph::elementwise_table()[58], std::array<const Operand*, 1>{&x}); }
Tensor elu(const Operand& x, double alpha) { return tensor::apply(graph::elementwise_table()[59], std::array<const Operand*, 1>{&x}, std::array{alpha}); }
Tensor eq(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[60], std::array<const Operand*, 2>{&a, &b}); }
Tensor ne(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[61], std::array<const Operand*, 2>{&a, &b}); }
Tensor lt(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[62], std::array<const Operand*, 2>{&a, &b}); }
Tensor le(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[63], std::array<const Operand*, 2>{&a, &b}); }
Tensor gt(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[64], std::array<const Operand*, 2>{&a, &b}); }
Tensor ge(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[65], std::array<const Operand*, 2>{&a, &b}); }
Tensor isnan(const Operand& x) { return tensor::apply(graph::elementwise_table()[66], std::array<const Operand*, 1>{&x}); }
Tensor isinf(const Operand& x) { return tensor::apply(graph::elementwise_table()[67], std::array<const Operand*, 1>{&x}); }
Tensor isfinite(const Operand& x) { return tensor::apply(graph::elementwise_table()[68], std::array<const Operand*, 1>{&x}); }
Tensor signbit(const Operand& x) { return tensor::apply(graph::elementwise_table()[69], std::array<const Operand*, 1>{&x}); }
Tensor logical_and(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[70], std::array<const Operand*, 2>{&a, &b}); }
Tensor logical_or(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[71], std::array<const Operand*, 2>{&a, &b}); }
Tensor logical_xor(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[72], std::array<const Operand*, 2>{&a, &b}); }
Tensor logical_not(const Operand& x) { return tensor::apply(graph::elementwise_table()[73], std::array<const Operand*, 1>{&x}); }
Tensor bitwise_and(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[74], std::array<const Operand*, 2>{&a, &b}); }
Tensor bitwise_or(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[75], std::array<const Operand*, 2>{&a, &b}); }
Tensor bitwise_xor(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[76], std::array<const Operand*, 2>{&a, &b}); }
Tensor bitwise_not(const Operand& x) { return tensor::apply(graph::elementwise_table()[77], std::array<const Operand*, 1>{&x}); }
Tensor shift_left(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[78], std::array<const Operand*, 2>{&a, &b}); }
Tensor shift_right(const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[79], std::array<const Operand*, 2>{&a, &b}); }
Tensor where(const Operand& condition, const Operand& a, const Operand& b) { return tensor::apply(graph::elementwise_table()[80], std::array<const Operand*, 3>{&condition, &a, &b}); }
// clang-format on

}  // namespace hologram::ops
