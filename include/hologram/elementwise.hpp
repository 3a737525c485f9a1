// Operations of one element from one element of each operand, which are brought to one dtype
// and repeated to one shape. Written by scripts/generate from src/graph/elementwise.cpp.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// clang-format off
// a + b; integers wrap.
HOLOGRAM_API Tensor add(const Operand& a, const Operand& b);
// a - b; integers wrap.
HOLOGRAM_API Tensor sub(const Operand& a, const Operand& b);
// a * b; integers wrap.
HOLOGRAM_API Tensor mul(const Operand& a, const Operand& b);
// a / b, of integers too: 1 / 2 is 0.5.
HOLOGRAM_API Tensor div(const Operand& a, const Operand& b);
// The largest whole number not above a / b; of integers, x / 0 is 0.
HOLOGRAM_API Tensor floor_div(const Operand& a, const Operand& b);
// a - floor_div(a, b) * b, with the sign of b; of integers, x rem 0 is 0. Of floats exact, but for
// the rounding of what is left where a and b differ in sign.
HOLOGRAM_API Tensor rem(const Operand& a, const Operand& b);
// -x; unsigned integers wrap.
HOLOGRAM_API Tensor neg(const Operand& x);
// The magnitude; the smallest integer stays what it is.
HOLOGRAM_API Tensor abs(const Operand& x);
// -1, 0 or 1.
HOLOGRAM_API Tensor sign(const Operand& x);
// The magnitude of a with the sign of b, of a NaN too.
HOLOGRAM_API Tensor copysign(const Operand& a, const Operand& b);
// The smaller one; NaN if either is.
HOLOGRAM_API Tensor minimum(const Operand& a, const Operand& b);
// The larger one; NaN if either is.
HOLOGRAM_API Tensor maximum(const Operand& a, const Operand& b);
// min(max(x, low), high).
HOLOGRAM_API Tensor clamp(const Operand& x, const Operand& low, const Operand& high);
// a * b + c, rounded once or twice, whichever is faster on the device.
HOLOGRAM_API Tensor mad(const Operand& a, const Operand& b, const Operand& c);
// a * b + c, rounded once.
HOLOGRAM_API Tensor fma(const Operand& a, const Operand& b, const Operand& c);
// a + weight * (b - a); b itself at a weight of 1.
HOLOGRAM_API Tensor lerp(const Operand& a, const Operand& b, const Operand& weight);
// The largest whole number not above x.
HOLOGRAM_API Tensor floor(const Operand& x);
// The smallest whole number not below x.
HOLOGRAM_API Tensor ceil(const Operand& x);
// The nearest whole number, ties to even.
HOLOGRAM_API Tensor round(const Operand& x);
// x without its fraction.
HOLOGRAM_API Tensor trunc(const Operand& x);
// The square root; NaN below 0.
HOLOGRAM_API Tensor sqrt(const Operand& x);
// 1 / sqrt(x).
HOLOGRAM_API Tensor rsqrt(const Operand& x);
// x * x.
HOLOGRAM_API Tensor square(const Operand& x);
// 1 / x.
HOLOGRAM_API Tensor reciprocal(const Operand& x);
// a to the power of b. pow(x, 0) and pow(1, x) are 1. Integers wrap; a negative exponent gives 0
// but for bases of 1 and -1. By the numbers 2, 3 and 4 it multiplies.
HOLOGRAM_API Tensor pow(const Operand& a, const Operand& b);
// The cube root, of negative numbers too.
HOLOGRAM_API Tensor cbrt(const Operand& x);
// sqrt(a * a + b * b) without overflow; infinity if either is infinite.
HOLOGRAM_API Tensor hypot(const Operand& a, const Operand& b);
// e to the power of x.
HOLOGRAM_API Tensor exp(const Operand& x);
// 2 to the power of x.
HOLOGRAM_API Tensor exp2(const Operand& x);
// exp(x) - 1, accurate near 0.
HOLOGRAM_API Tensor expm1(const Operand& x);
// The natural logarithm; NaN below 0.
HOLOGRAM_API Tensor log(const Operand& x);
// The logarithm to base 2.
HOLOGRAM_API Tensor log2(const Operand& x);
// The logarithm to base 10.
HOLOGRAM_API Tensor log10(const Operand& x);
// log(1 + x), accurate near 0.
HOLOGRAM_API Tensor log1p(const Operand& x);
// log(exp(a) + exp(b)) without overflow.
HOLOGRAM_API Tensor logaddexp(const Operand& a, const Operand& b);
// The sine of x radians.
HOLOGRAM_API Tensor sin(const Operand& x);
// The cosine of x radians.
HOLOGRAM_API Tensor cos(const Operand& x);
// The tangent of x radians.
HOLOGRAM_API Tensor tan(const Operand& x);
// The arc sine, in radians; NaN beyond 1.
HOLOGRAM_API Tensor asin(const Operand& x);
// The arc cosine, in radians; NaN beyond 1.
HOLOGRAM_API Tensor acos(const Operand& x);
// The arc tangent, in radians.
HOLOGRAM_API Tensor atan(const Operand& x);
// The angle of the point (x, y), in radians.
HOLOGRAM_API Tensor atan2(const Operand& y, const Operand& x);
// The hyperbolic sine.
HOLOGRAM_API Tensor sinh(const Operand& x);
// The hyperbolic cosine.
HOLOGRAM_API Tensor cosh(const Operand& x);
// The hyperbolic tangent.
HOLOGRAM_API Tensor tanh(const Operand& x);
// The inverse hyperbolic sine.
HOLOGRAM_API Tensor asinh(const Operand& x);
// The inverse hyperbolic cosine; NaN below 1.
HOLOGRAM_API Tensor acosh(const Operand& x);
// The inverse hyperbolic tangent; NaN beyond 1.
HOLOGRAM_API Tensor atanh(const Operand& x);
// sin(pi * x) / (pi * x), and 1 at 0; 0 at all other whole numbers.
HOLOGRAM_API Tensor sinc(const Operand& x);
// The error function.
HOLOGRAM_API Tensor erf(const Operand& x);
// The inverse of erf; NaN beyond 1.
HOLOGRAM_API Tensor erfinv(const Operand& x);
// The logarithm of the magnitude of the gamma function.
HOLOGRAM_API Tensor lgamma(const Operand& x);
// 1 / (1 + exp(-x)).
HOLOGRAM_API Tensor sigmoid(const Operand& x);
// max(x, 0).
HOLOGRAM_API Tensor relu(const Operand& x);
// x, or negative_slope * x below 0.
HOLOGRAM_API Tensor leaky_relu(const Operand& x, double negative_slope = 0.01);
// x / 2 * (1 + erf(x / sqrt(2))).
HOLOGRAM_API Tensor gelu(const Operand& x);
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
HOLOGRAM_API Tensor gelu_tanh(const Operand& x);
// x * sigmoid(x).
HOLOGRAM_API Tensor silu(const Operand& x);
// log(1 + exp(x)) without overflow.
HOLOGRAM_API Tensor softplus(const Operand& x);
// x, or alpha * (exp(x) - 1) below 0.
HOLOGRAM_API Tensor elu(const Operand& x, double alpha = 1);
// a == b; false with NaN.
HOLOGRAM_API Tensor eq(const Operand& a, const Operand& b);
// a != b; true with NaN.
HOLOGRAM_API Tensor ne(const Operand& a, const Operand& b);
// a < b; false with NaN.
HOLOGRAM_API Tensor lt(const Operand& a, const Operand& b);
// a <= b; false with NaN.
HOLOGRAM_API Tensor le(const Operand& a, const Operand& b);
// a > b; false with NaN.
HOLOGRAM_API Tensor gt(const Operand& a, const Operand& b);
// a >= b; false with NaN.
HOLOGRAM_API Tensor ge(const Operand& a, const Operand& b);
// Whether x is NaN.
HOLOGRAM_API Tensor isnan(const Operand& x);
// Whether x is infinite.
HOLOGRAM_API Tensor isinf(const Operand& x);
// Whether x is neither NaN nor infinite.
HOLOGRAM_API Tensor isfinite(const Operand& x);
// Whether the sign is minus, of -0 too.
HOLOGRAM_API Tensor signbit(const Operand& x);
// Whether both differ from 0.
HOLOGRAM_API Tensor logical_and(const Operand& a, const Operand& b);
// Whether one or both differ from 0.
HOLOGRAM_API Tensor logical_or(const Operand& a, const Operand& b);
// Whether exactly one differs from 0.
HOLOGRAM_API Tensor logical_xor(const Operand& a, const Operand& b);
// Whether x is 0.
HOLOGRAM_API Tensor logical_not(const Operand& x);
// a & b.
HOLOGRAM_API Tensor bitwise_and(const Operand& a, const Operand& b);
// a | b.
HOLOGRAM_API Tensor bitwise_or(const Operand& a, const Operand& b);
// a ^ b.
HOLOGRAM_API Tensor bitwise_xor(const Operand& a, const Operand& b);
// ~x.
HOLOGRAM_API Tensor bitwise_not(const Operand& x);
// a * 2^b, wrapping; b counts modulo the width of a.
HOLOGRAM_API Tensor shift_left(const Operand& a, const Operand& b);
// a / 2^b rounded down; b counts modulo the width of a.
HOLOGRAM_API Tensor shift_right(const Operand& a, const Operand& b);
// a where the condition holds, else b.
HOLOGRAM_API Tensor where(const Operand& condition, const Operand& a, const Operand& b);
// clang-format on

}  // namespace hologram::ops
