// Written by scripts/generate from src/graph/elementwise.cpp.
#include "tensor/elementwise_gradients.hpp"

#include <numbers>

#include "hologram/ops.hpp"

namespace hologram::tensor {
namespace {

using namespace ops;
using S = const Saved&;
using T = const Tensor&;

// clang-format off
Tensor add_a(S, T g) { return g; }
Tensor add_b(S, T g) { return g; }
Tensor sub_a(S, T g) { return g; }
Tensor sub_b(S, T g) { return -g; }
Tensor mul_a(S s, T g) { T b = s.operands[1]; return g * b; }
Tensor mul_b(S s, T g) { T a = s.operands[0]; return g * a; }
Tensor div_a(S s, T g) { T b = s.operands[1]; return g / b; }
Tensor div_b(S s, T g) { T b = s.operands[1]; T out = s.out; return -g * out / b; }
Tensor rem_a(S, T g) { return g; }
Tensor rem_b(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return -g * floor_div(a, b); }
Tensor neg_x(S, T g) { return -g; }
Tensor abs_x(S s, T g) { T x = s.operands[0]; return g * sign(x); }
Tensor copysign_a(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return g * sign(a) * copysign(1.0, b); }
Tensor minimum_a(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, where(a > b, 0, g)); }
Tensor minimum_b(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, where(b > a, 0, g)); }
Tensor maximum_a(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, where(a < b, 0, g)); }
Tensor maximum_b(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, where(b < a, 0, g)); }
Tensor clamp_x(S s, T g) { T x = s.operands[0]; T low = s.operands[1]; T high = s.operands[2]; return where((x >= low) & (x <= high), g, 0); }
Tensor clamp_low(S s, T g) { T x = s.operands[0]; T low = s.operands[1]; T high = s.operands[2]; return where((x < low) & (low <= high), g, 0); }
Tensor clamp_high(S s, T g) { T x = s.operands[0]; T low = s.operands[1]; T high = s.operands[2]; return where((x > high) | (low > high), g, 0); }
Tensor mad_a(S s, T g) { T b = s.operands[1]; return g * b; }
Tensor mad_b(S s, T g) { T a = s.operands[0]; return g * a; }
Tensor mad_c(S, T g) { return g; }
Tensor fma_a(S s, T g) { T b = s.operands[1]; return g * b; }
Tensor fma_b(S s, T g) { T a = s.operands[0]; return g * a; }
Tensor fma_c(S, T g) { return g; }
Tensor lerp_a(S s, T g) { T weight = s.operands[2]; return g * (1 - weight); }
Tensor lerp_b(S s, T g) { T weight = s.operands[2]; return g * weight; }
Tensor lerp_weight(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return g * (b - a); }
Tensor sqrt_x(S s, T g) { T out = s.out; return g * 0.5 / out; }
Tensor rsqrt_x(S s, T g) { T out = s.out; return g * -0.5 * out * out * out; }
Tensor square_x(S s, T g) { T x = s.operands[0]; return g * 2 * x; }
Tensor reciprocal_x(S s, T g) { T out = s.out; return -g * out * out; }
Tensor pow_a(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(b == 0, 0, g * b * pow(a, b - 1)); }
Tensor pow_b(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; T out = s.out; return where((a == 0) & (b >= 0), 0, g * out * log(a)); }
Tensor cbrt_x(S s, T g) { T out = s.out; return g / (3 * out * out); }
Tensor hypot_a(S s, T g) { T a = s.operands[0]; T out = s.out; return where(out == 0, 0, g * (a / out)); }
Tensor hypot_b(S s, T g) { T b = s.operands[1]; T out = s.out; return where(out == 0, 0, g * (b / out)); }
Tensor exp_x(S s, T g) { T out = s.out; return g * out; }
Tensor exp2_x(S s, T g) { T out = s.out; return g * out * std::numbers::ln2; }
Tensor expm1_x(S s, T g) { T out = s.out; return g * (out + 1); }
Tensor log_x(S s, T g) { T x = s.operands[0]; return g / x; }
Tensor log2_x(S s, T g) { T x = s.operands[0]; return g / (x * std::numbers::ln2); }
Tensor log10_x(S s, T g) { T x = s.operands[0]; return g / (x * std::numbers::ln10); }
Tensor log1p_x(S s, T g) { T x = s.operands[0]; return g / (x + 1); }
Tensor logaddexp_a(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, g * sigmoid(a - b)); }
Tensor logaddexp_b(S s, T g) { T a = s.operands[0]; T b = s.operands[1]; return where(a == b, g * 0.5, g * sigmoid(b - a)); }
Tensor sin_x(S s, T g) { T x = s.operands[0]; return g * cos(x); }
Tensor cos_x(S s, T g) { T x = s.operands[0]; return -g * sin(x); }
Tensor tan_x(S s, T g) { T out = s.out; return g * (1 + out * out); }
Tensor asin_x(S s, T g) { T x = s.operands[0]; return g * rsqrt(1 - x * x); }
Tensor acos_x(S s, T g) { T x = s.operands[0]; return -g * rsqrt(1 - x * x); }
Tensor atan_x(S s, T g) { T x = s.operands[0]; return g / (1 + x * x); }
Tensor atan2_y(S s, T g) { T y = s.operands[0]; T x = s.operands[1]; return slope_of_angle(g, x, y); }
Tensor atan2_x(S s, T g) { T y = s.operands[0]; T x = s.operands[1]; return -slope_of_angle(g, y, x); }
Tensor sinh_x(S s, T g) { T x = s.operands[0]; return g * cosh(x); }
Tensor cosh_x(S s, T g) { T x = s.operands[0]; return g * sinh(x); }
Tensor tanh_x(S s, T g) { T out = s.out; return g * (1 - out * out); }
Tensor asinh_x(S s, T g) { T x = s.operands[0]; return g * rsqrt(x * x + 1); }
Tensor acosh_x(S s, T g) { T x = s.operands[0]; return g / (sqrt(x - 1) * sqrt(x + 1)); }
Tensor atanh_x(S s, T g) { T x = s.operands[0]; return g / (1 - x * x); }
Tensor sinc_x(S s, T g) { T x = s.operands[0]; T out = s.out; return where(x == 0, 0, g * (cos(x * std::numbers::pi) - out) / x); }
Tensor erf_x(S s, T g) { T x = s.operands[0]; return g * exp(-x * x) * (2 * std::numbers::inv_sqrtpi); }
Tensor erfinv_x(S s, T g) { T out = s.out; return g * exp(out * out) * (0.5 / std::numbers::inv_sqrtpi); }
Tensor lgamma_x(S s, T g) { T x = s.operands[0]; return g * digamma(x); }
Tensor sigmoid_x(S s, T g) { T out = s.out; return g * out * (1 - out); }
Tensor relu_x(S s, T g) { T out = s.out; return where(out <= 0, 0, g); }
Tensor leaky_relu_x(S s, T g) { T x = s.operands[0]; const double negative_slope = s.attributes[0]; return where(x > 0, g, g * negative_slope); }
Tensor gelu_x(S s, T g) { T x = s.operands[0]; return g * slope_of_gelu(x); }
Tensor gelu_tanh_x(S s, T g) { T x = s.operands[0]; return g * slope_of_gelu_tanh(x); }
Tensor silu_x(S s, T g) { T x = s.operands[0]; T out = s.out; return g * (sigmoid(x) + out * (1 - sigmoid(x))); }
Tensor softplus_x(S s, T g) { T x = s.operands[0]; return g * sigmoid(x); }
Tensor elu_x(S s, T g) { T x = s.operands[0]; T out = s.out; const double alpha = s.attributes[0]; return where(x > 0, g, g * (out + alpha)); }
Tensor where_a(S s, T g) { T condition = s.operands[0]; return where(condition, g, 0); }
Tensor where_b(S s, T g) { T condition = s.operands[0]; return where(condition, 0, g); }

constexpr ElementwiseGradients kRows[] = {
    {{{add_a, 0}, {add_b, 0}}},  // add
    {{{sub_a, 0}, {sub_b, 0}}},  // sub
    {{{mul_a, 2}, {mul_b, 1}}},  // mul
    {{{div_a, 2}, {div_b, 10}}},  // div
    {{}},  // floor_div
    {{{rem_a, 0}, {rem_b, 3}}},  // rem
    {{{neg_x, 0}}},  // neg
    {{{abs_x, 1}}},  // abs
    {{}},  // sign
    {{{copysign_a, 3}, {}}},  // copysign
    {{{minimum_a, 3}, {minimum_b, 3}}},  // minimum
    {{{maximum_a, 3}, {maximum_b, 3}}},  // maximum
    {{{clamp_x, 7}, {clamp_low, 7}, {clamp_high, 7}}},  // clamp
    {{{mad_a, 2}, {mad_b, 1}, {mad_c, 0}}},  // mad
    {{{fma_a, 2}, {fma_b, 1}, {fma_c, 0}}},  // fma
    {{{lerp_a, 4}, {lerp_b, 4}, {lerp_weight, 3}}},  // lerp
    {{}},  // floor
    {{}},  // ceil
    {{}},  // round
    {{}},  // trunc
    {{{sqrt_x, 8}}},  // sqrt
    {{{rsqrt_x, 8}}},  // rsqrt
    {{{square_x, 1}}},  // square
    {{{reciprocal_x, 8}}},  // reciprocal
    {{{pow_a, 3}, {pow_b, 11}}},  // pow
    {{{cbrt_x, 8}}},  // cbrt
    {{{hypot_a, 9}, {hypot_b, 10}}},  // hypot
    {{{exp_x, 8}}},  // exp
    {{{exp2_x, 8}}},  // exp2
    {{{expm1_x, 8}}},  // expm1
    {{{log_x, 1}}},  // log
    {{{log2_x, 1}}},  // log2
    {{{log10_x, 1}}},  // log10
    {{{log1p_x, 1}}},  // log1p
    {{{logaddexp_a, 3}, {logaddexp_b, 3}}},  // logaddexp
    {{{sin_x, 1}}},  // sin
    {{{cos_x, 1}}},  // cos
    {{{tan_x, 8}}},  // tan
    {{{asin_x, 1}}},  // asin
    {{{acos_x, 1}}},  // acos
    {{{atan_x, 1}}},  // atan
    {{{atan2_y, 3}, {atan2_x, 3}}},  // atan2
    {{{sinh_x, 1}}},  // sinh
    {{{cosh_x, 1}}},  // cosh
    {{{tanh_x, 8}}},  // tanh
    {{{asinh_x, 1}}},  // asinh
    {{{acosh_x, 1}}},  // acosh
    {{{atanh_x, 1}}},  // atanh
    {{{sinc_x, 9}}},  // sinc
    {{{erf_x, 1}}},  // erf
    {{{erfinv_x, 8}}},  // erfinv
    {{{lgamma_x, 1}}},  // lgamma
    {{{sigmoid_x, 8}}},  // sigmoid
    {{{relu_x, 8}}},  // relu
    {{{leaky_relu_x, 1}}},  // leaky_relu
    {{{gelu_x, 1}}},  // gelu
    {{{gelu_tanh_x, 1}}},  // gelu_tanh
    {{{silu_x, 9}}},  // silu
    {{{softplus_x, 1}}},  // softplus
    {{{elu_x, 9}}},  // elu
    {{}},  // eq
    {{}},  // ne
    {{}},  // lt
    {{}},  // le
    {{}},  // gt
    {{}},  // ge
    {{}},  // isnan
    {{}},  // isinf
    {{}},  // isfinite
    {{}},  // signbit
    {{}},  // logical_and
    {{}},  // logical_or
    {{}},  // logical_xor
    {{}},  // logical_not
    {{}},  // bitwise_and
    {{}},  // bitwise_or
    {{}},  // bitwise_xor
    {{}},  // bitwise_not
    {{}},  // shift_left
    {{}},  // shift_right
    {{{}, {where_a, 1}, {where_b, 1}}},  // where
};
// clang-format on

}  // namespace

std::span<const ElementwiseGradients> elementwise_gradients() { return kRows; }

}  // namespace hologram::tensor
