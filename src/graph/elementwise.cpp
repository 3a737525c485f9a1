#include "graph/elementwise.hpp"

#include <algorithm>
#include <limits>
#include <numbers>

#include "core/messages.hpp"
#include "graph/elementwise_functions.hpp"

namespace hologram::graph {
namespace {

using program::apply;
using program::Op;
using program::Operand;
using program::Value;
using X = const Operands&;

Value call(Op op, Operand a) { return apply(op, {a}); }
Value exp(Operand a) { return apply(Op::Exp, {a}); }
Value log1p(Operand a) { return apply(Op::Log1p, {a}); }
Value sqrt(Operand a) { return apply(Op::Sqrt, {a}); }
Value floor(Operand a) { return apply(Op::Floor, {a}); }
Value abs(Value a) { return is_unsigned_integer(a.type()) ? a : apply(Op::Abs, {a}); }
Value isinf(Value a) { return apply(Op::IsInf, {a}); }
Value isfinite(Value a) { return apply(Op::IsFinite, {a}); }
Value copysign(Operand a, Operand b) { return apply(Op::CopySign, {a, b}); }
// x if it is NaN, else the result. Of two NaN with different signs, processors pass on either.
Value or_nan(Value x, Value result) { return select(apply(Op::IsNan, {x}), x, result); }
Value truth(X x, bool value) { return x.builder.constant_bits(DType::Bool, value ? 1 : 0); }

template <Op op>
Value unary(X x) {
  return apply(op, {x[0]});
}
template <Op op>
Value binary(X x) {
  return apply(op, {x[0], x[1]});
}
// Of floats; whole numbers are what they are.
template <Op op>
Value rounding(X x) {
  return is_float(x.from) ? apply(op, {x[0]}) : x[0];
}
template <Op op>
Value float_test(X x, bool of_integers) {
  return is_float(x.from) ? apply(op, {x[0]}) : truth(x, of_integers);
}
// The count is taken modulo the width of the dtype, of narrow ones too.
template <Op op>
Value shift(X x) {
  const auto width = static_cast<int64_t>(8 * size_of(x.to));
  return apply(op, {x[0], x.builder.cast(x[1], DType::U32) & width - 1});
}
template <Op op>
Value logical(X x) {
  const auto bit = [&](Value v) { return x.builder.cast(v, DType::Bool); };
  return apply(op, {bit(x[0]), bit(x[1])});
}

Value sign(X x) {
  return is_unsigned_integer(x.from)
             ? select(x[0] > 0, x.builder.constant(x.compute(), int64_t{1}), 0)
             : call(Op::Sign, x[0]);
}

// a less a multiple of b, so that less than 2^digits times |b| is left. Exact: multiples of b by a
// power of two are taken off, as many binary digits of the quotient at a time as are exact.
Value without_multiples(Value a, Value b) {
  program::Builder& builder = *a.builder();
  const bool wide = a.type() == DType::F64;
  const DType word = wide ? DType::U64 : DType::U32;
  const int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127, digits = mantissa - 1;
  const Value shift = builder.constant_bits(DType::U32, static_cast<uint64_t>(mantissa));
  const auto exponent = [&](Value x) {
    return builder.cast(builder.bitcast(abs(x), word) >> shift, DType::I32);
  };
  const auto power_of_2 = [&](Value e) {
    return builder.bitcast(builder.cast(e + bias, word) << shift, a.type());
  };
  const Value of_denormal = exponent(b * (wide ? 0x1p52 : 0x1p23)) - mantissa;
  const Value of_b = select(abs(b) < (wide ? 0x1p-1022 : 0x1p-126), of_denormal, exponent(b));
  const program::Var left = builder.var(a);
  const int rounds = (2 * bias + mantissa) / digits + 1;
  builder.for_(builder.constant(DType::I32, int64_t{0}),
               builder.constant(DType::I32, int64_t{rounds}), 1, [&](Value) {
                 const Value r = builder.get(left);
                 const Value times = max(exponent(r) - of_b - digits, 0), half = times / 2;
                 const Value step = b * power_of_2(half) * power_of_2(times - half);
                 const Value less = fma(-call(Op::Trunc, r / step), step, r);
                 builder.set(left, select(times > 0, less, r));
               });
  return builder.get(left);
}

// The quotient rounded down and what is left, which has the sign of b, a NaN too. Rounding may have
// made the quotient the next whole number, never the one before: what is left is put right then. A
// remainder that rounds to b itself is right: of a number just below zero, say.
struct Division {
  Value quotient, remainder;
};
Division divided(Value a, Value b, Value quotient) {
  const Value r = fma(-quotient, b, a), over = select(b > 0, r<0, r> 0);
  return {select(over, quotient - 1, quotient), copysign(select(over, r + b, r), b)};
}
Division divide(X x) {
  const Value a = x[0], b = x[1];
  if (is_float(x.from)) {
    program::Builder& builder = x.builder;
    const Value ratio = a / b, q = floor(ratio);
    const Division usual = divided(a, b, q);
    const program::Var quotient = builder.var(usual.quotient),
                       remainder = builder.var(usual.remainder);
    // From there on, and of infinity and by 0, the quotient has no place for its last digits.
    const Value is_far = abs(ratio) >= (x.compute() == DType::F64 ? 0x1p53 : 0x1p24);
    builder.if_(is_far | isinf(b), [&] {
      const Value near = without_multiples(a, b);
      const Value left = divided(near, b, floor(near / b)).remainder;
      const Value by_infinity = isinf(b) & isfinite(a), same = (a == 0) | ((a < 0) == (b < 0));
      const Value nothing = builder.constant(x.compute(), std::numeric_limits<double>::quiet_NaN());
      builder.set(quotient, select(by_infinity, select(same, copysign(0 * a, ratio), -1),
                                   select(isinf(a) & (b != 0), nothing, q)));
      builder.set(remainder, select(by_infinity, select(same, a, b), left));
    });
    return {builder.get(quotient), builder.get(remainder)};
  }
  const Value q = a / b;
  if (is_unsigned_integer(x.from)) return {q, a % b};
  // Another division would take longer.
  const Value r = select(b == 0, b, a - q * b);
  const Value differ = (r != 0) & ((r < 0) != (b < 0));
  return {select(differ, q - 1, q), select(differ, r + b, r)};
}

Value true_division(X x) { return x[0] / x[1]; }

// By squaring; the integers wrap. A negative exponent gives 0 but for bases of 1 and -1.
Value power(X x) {
  if (is_float(x.from)) return apply(Op::Pow, {x[0], x[1]});
  program::Builder& b = x.builder;
  const Value one = b.constant(x.compute(), int64_t{1});
  const program::Var result = b.var(one), base = b.var(x[0]), left = b.var(x[1]);
  const int64_t bits = x.compute() == DType::I64 || x.compute() == DType::U64 ? 64 : 32;
  b.for_(b.constant(DType::I32, int64_t{0}), b.constant(DType::I32, bits), 1, [&](Value) {
    b.set(result, select((b.get(left) & 1) != 0, b.get(result) * b.get(base), b.get(result)));
    b.set(base, b.get(base) * b.get(base));
    b.set(left, b.get(left) >> b.constant(DType::U32, int64_t{1}));
  });
  if (is_unsigned_integer(x.from)) return b.get(result);
  const Value odd = (x[1] & 1) != 0;
  const Value inverse = select(x[0] == 1, one, select(x[0] == -1, select(odd, -one, one), 0));
  return select(x[1] < 0, inverse, b.get(result));
}

// Scaled by the larger leg, so that no square overflows.
Value hypot(X x) {
  const Value a = abs(x[0]), b = abs(x[1]);
  const Value large = max(a, b), ratio = min(a, b) / large;
  const Value length = select(large == 0, large, large * sqrt(fma(ratio, ratio, 1)));
  const Value infinity = x.builder.constant(x.compute(), std::numeric_limits<double>::infinity());
  return select((a == infinity) | (b == infinity), infinity, length);
}

Value logaddexp(X x) {
  const Value large = max(x[0], x[1]), gap = -abs(x[0] - x[1]);
  const Value sum = select(x[0] == x[1], x[0] + std::numbers::ln2, large + log1p(exp(gap)));
  return or_nan(x[0], or_nan(x[1], sum));
}

Value softplus(X x) { return or_nan(x[0], max(x[0], 0) + log1p(exp(-abs(x[0])))); }
Value gelu(X x) {
  const Value half = x[0] * 0.5;
  return fma(half, call(Op::Erf, x[0] * (1 / std::numbers::sqrt2)), half);
}
Value gelu_tanh(X x) {
  const Value cube = x[0] * x[0] * x[0], half = x[0] * 0.5;
  const Value inner = fma(cube, 0.044715, x[0]) * (std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return fma(half, call(Op::Tanh, inner), half);
}
Value leaky_relu(X x) { return select(x[0] < 0, x[0] * x.attribute(0), x[0]); }
Value elu(X x) { return select(x[0] > 0, x[0], x.attribute(0) * call(Op::Expm1, x[0])); }

constexpr double kAll = 3.4e38, kTiny = 1.2e-38;
constexpr auto kOperand = true;

using enum Group;
using enum Accepts;
using R = Rule;
using N = Nan;

// clang-format off
const ElementwiseOp kTable[] = {
{"add", Arithmetic, "a, b", Number, R::Same, binary<Op::Add>, -kAll, kAll, 0.5, N::Propagates, "a + b; integers wrap.", "g; g"},
{"sub", Arithmetic, "a, b", Number, R::Same, binary<Op::Sub>, -kAll, kAll, 0.5, N::Propagates, "a - b; integers wrap.", "g; -g"},
{"mul", Arithmetic, "a, b", Number, R::Same, binary<Op::Mul>, -kAll, kAll, 0.5, N::Propagates, "a * b; integers wrap.", "g * b; g * a"},
{"div", Arithmetic, "a, b", Number, R::Float, true_division, -kAll, kAll, 0.5, N::Propagates, "a / b, of integers too: 1 / 2 is 0.5.", "g / b; -g * out / b"},
{"floor_div", Arithmetic, "a, b", Number, R::Same, [](X x) { return divide(x).quotient; }, -1e6, 1e6, 1, N::Propagates, "The largest whole number not above a / b; of integers, x / 0 is 0.", ""},
{"rem", Arithmetic, "a, b", Number, R::Same, [](X x) { return divide(x).remainder; }, -1e6, 1e6, 1, N::Propagates, "a - floor_div(a, b) * b, with the sign of b; of integers, x rem 0 is 0. Of floats exact, but for the rounding of what is left where a and b differ in sign.", "g; -g * floor_div(a, b)"},
{"neg", Arithmetic, "x", Number, R::Same, unary<Op::Neg>, -kAll, kAll, 0, N::Propagates, "-x; unsigned integers wrap.", "-g"},
{"abs", Arithmetic, "x", Number, R::Same, [](X x) { return abs(x[0]); }, -kAll, kAll, 0, N::Propagates, "The magnitude; the smallest integer stays what it is.", "g * sign(x)"},
{"sign", Arithmetic, "x", Number, R::Same, sign, -kAll, kAll, 0, N::Propagates, "-1, 0 or 1.", ""},
{"copysign", Arithmetic, "a, b", Number, R::Float, binary<Op::CopySign>, -kAll, kAll, 0, N::Special, "The magnitude of a with the sign of b, of a NaN too.", "g * sign(a) * copysign(1.0, b);"},
{"minimum", Arithmetic, "a, b", Any, R::Same, [](X x) { return x.from == DType::Bool ? x[0] & x[1] : min(x[0], x[1]); }, -kAll, kAll, 0, N::Propagates, "The smaller one; NaN if either is.", "where(a == b, g * 0.5, where(a > b, 0, g)); where(a == b, g * 0.5, where(b > a, 0, g))"},
{"maximum", Arithmetic, "a, b", Any, R::Same, [](X x) { return x.from == DType::Bool ? x[0] | x[1] : max(x[0], x[1]); }, -kAll, kAll, 0, N::Propagates, "The larger one; NaN if either is.", "where(a == b, g * 0.5, where(a < b, 0, g)); where(a == b, g * 0.5, where(b < a, 0, g))"},
{"clamp", Arithmetic, "x, low, high", Number, R::Same, [](X x) { return min(max(x[0], x[1]), x[2]); }, -kAll, kAll, 0, N::Propagates, "min(max(x, low), high).", "where((x >= low) & (x <= high), g, 0); where((x < low) & (low <= high), g, 0); where((x > high) | (low > high), g, 0)"},
{"mad", Arithmetic, "a, b, c", Number, R::Same, [](X x) { return apply(Op::Mad, {x[0], x[1], x[2]}); }, -1e18, 1e18, 1, N::Propagates, "a * b + c, rounded once or twice, whichever is faster on the device.", "g * b; g * a; g", {}, false, kOperand},
{"fma", Arithmetic, "a, b, c", Number, R::Same, [](X x) { return fma(x[0], x[1], x[2]); }, -1e18, 1e18, 0.5, N::Propagates, "a * b + c, rounded once.", "g * b; g * a; g"},

{"lerp", Arithmetic, "a, b, weight", Number, R::Float, lerp_of, -1e18, 1e18, 4, N::Propagates, "a + weight * (b - a); b itself at a weight of 1.", "g * (1 - weight); g * weight; g * (b - a)", {}, false, kOperand},

{"floor", Rounding, "x", Number, R::Same, rounding<Op::Floor>, -kAll, kAll, 0, N::Propagates, "The largest whole number not above x.", ""},
{"ceil", Rounding, "x", Number, R::Same, rounding<Op::Ceil>, -kAll, kAll, 0, N::Propagates, "The smallest whole number not below x.", ""},
{"round", Rounding, "x", Number, R::Same, rounding<Op::Round>, -kAll, kAll, 0, N::Propagates, "The nearest whole number, ties to even.", ""},
{"trunc", Rounding, "x", Number, R::Same, rounding<Op::Trunc>, -kAll, kAll, 0, N::Propagates, "x without its fraction.", ""},

{"sqrt", Power, "x", Number, R::Float, unary<Op::Sqrt>, 0, kAll, 0.5, N::Propagates, "The square root; NaN below 0.", "g * 0.5 / out"},
{"rsqrt", Power, "x", Number, R::Float, unary<Op::Rsqrt>, kTiny, kAll, 2, N::Propagates, "1 / sqrt(x).", "g * -0.5 * out * out * out"},
{"square", Power, "x", Number, R::Same, [](X x) { return x[0] * x[0]; }, -kAll, kAll, 0.5, N::Propagates, "x * x.", "g * 2 * x"},
{"reciprocal", Power, "x", Number, R::Float, [](X x) { return x.builder.constant(x.compute(), 1.0) / x[0]; }, -kAll, kAll, 0.5, N::Propagates, "1 / x.", "-g * out * out"},
{"pow", Power, "a, b", Number, R::Same, power, 0, 30, 2, N::Special, "a to the power of b. pow(x, 0) and pow(1, x) are 1. Integers wrap; a negative exponent gives 0 but for bases of 1 and -1. By the numbers 2, 3 and 4 it multiplies.", "where(b == 0, 0, g * b * pow(a, b - 1)); where((a == 0) & (b >= 0), 0, g * out * log(a))"},
{"cbrt", Power, "x", Number, R::Float, cbrt_of, -kAll, kAll, 1, N::Propagates, "The cube root, of negative numbers too.", "g / (3 * out * out)"},
{"hypot", Power, "a, b", Number, R::Float, hypot, -kAll, kAll, 3, N::Special, "sqrt(a * a + b * b) without overflow; infinity if either is infinite.", "where(out == 0, 0, g * (a / out)); where(out == 0, 0, g * (b / out))"},

{"exp", Function, "x", Number, R::Float, unary<Op::Exp>, -kAll, kAll, 1, N::Propagates, "e to the power of x.", "g * out"},
{"exp2", Function, "x", Number, R::Float, unary<Op::Exp2>, -kAll, kAll, 1, N::Propagates, "2 to the power of x.", "g * out * std::numbers::ln2"},
{"expm1", Function, "x", Number, R::Float, unary<Op::Expm1>, -kAll, kAll, 2, N::Propagates, "exp(x) - 1, accurate near 0.", "g * (out + 1)"},
{"log", Function, "x", Number, R::Float, unary<Op::Log>, 0, kAll, 1, N::Propagates, "The natural logarithm; NaN below 0.", "g / x"},
{"log2", Function, "x", Number, R::Float, unary<Op::Log2>, 0, kAll, 2, N::Propagates, "The logarithm to base 2.", "g / (x * std::numbers::ln2)"},
{"log10", Function, "x", Number, R::Float, unary<Op::Log10>, 0, kAll, 2, N::Propagates, "The logarithm to base 10.", "g / (x * std::numbers::ln10)"},
{"log1p", Function, "x", Number, R::Float, unary<Op::Log1p>, -1, kAll, 2, N::Propagates, "log(1 + x), accurate near 0.", "g / (x + 1)"},
{"logaddexp", Function, "a, b", Number, R::Float, logaddexp, -80, 80, 3, N::Propagates, "log(exp(a) + exp(b)) without overflow.", "where(a == b, g * 0.5, g * sigmoid(a - b)); where(a == b, g * 0.5, g * sigmoid(b - a))", {}, false, kOperand},
{"sin", Function, "x", Number, R::Float, unary<Op::Sin>, -kAll, kAll, 2, N::Propagates, "The sine of x radians.", "g * cos(x)"},
{"cos", Function, "x", Number, R::Float, unary<Op::Cos>, -kAll, kAll, 2, N::Propagates, "The cosine of x radians.", "-g * sin(x)"},
{"tan", Function, "x", Number, R::Float, unary<Op::Tan>, -kAll, kAll, 2, N::Propagates, "The tangent of x radians.", "g * (1 + out * out)"},
{"asin", Function, "x", Number, R::Float, unary<Op::Asin>, -1, 1, 2, N::Propagates, "The arc sine, in radians; NaN beyond 1.", "g * rsqrt(1 - x * x)"},
{"acos", Function, "x", Number, R::Float, unary<Op::Acos>, -1, 1, 2, N::Propagates, "The arc cosine, in radians; NaN beyond 1.", "-g * rsqrt(1 - x * x)"},
{"atan", Function, "x", Number, R::Float, unary<Op::Atan>, -kAll, kAll, 2, N::Propagates, "The arc tangent, in radians.", "g / (1 + x * x)"},
{"atan2", Function, "y, x", Number, R::Float, binary<Op::Atan2>, -kAll, kAll, 2, N::Propagates, "The angle of the point (x, y), in radians.", "slope_of_angle(g, x, y); -slope_of_angle(g, y, x)"},
{"sinh", Function, "x", Number, R::Float, unary<Op::Sinh>, -kAll, kAll, 2, N::Propagates, "The hyperbolic sine.", "g * cosh(x)"},
{"cosh", Function, "x", Number, R::Float, unary<Op::Cosh>, -kAll, kAll, 2, N::Propagates, "The hyperbolic cosine.", "g * sinh(x)"},
{"tanh", Function, "x", Number, R::Float, unary<Op::Tanh>, -kAll, kAll, 2, N::Propagates, "The hyperbolic tangent.", "g * (1 - out * out)"},
{"asinh", Function, "x", Number, R::Float, asinh_of, -kAll, kAll, 3, N::Propagates, "The inverse hyperbolic sine.", "g * rsqrt(x * x + 1)"},
{"acosh", Function, "x", Number, R::Float, acosh_of, 1, kAll, 3, N::Propagates, "The inverse hyperbolic cosine; NaN below 1.", "g / (sqrt(x - 1) * sqrt(x + 1))"},
{"atanh", Function, "x", Number, R::Float, atanh_of, -1, 1, 3, N::Propagates, "The inverse hyperbolic tangent; NaN beyond 1.", "g / (1 - x * x)"},
{"sinc", Function, "x", Number, R::Float, sinc_of, -kAll, kAll, 4, N::Propagates, "sin(pi * x) / (pi * x), and 1 at 0; 0 at all other whole numbers.", "where(x == 0, 0, g * (cos(x * std::numbers::pi) - out) / x)"},
{"erf", Function, "x", Number, R::Float, unary<Op::Erf>, -kAll, kAll, 2, N::Propagates, "The error function.", "g * exp(-x * x) * (2 * std::numbers::inv_sqrtpi)"},
{"erfinv", Function, "x", Number, R::Float, erfinv_of, -1, 1, 6, N::Propagates, "The inverse of erf; NaN beyond 1.", "g * exp(out * out) * (0.5 / std::numbers::inv_sqrtpi)"},
{"lgamma", Function, "x", Number, R::Float, lgamma_of, -kAll, kAll, 4, N::Propagates, "The logarithm of the magnitude of the gamma function.", "g * digamma(x)", {}, false, kOperand},

{"sigmoid", Activation, "x", Number, R::Float, unary<Op::Sigmoid>, -80, 80, 2, N::Propagates, "1 / (1 + exp(-x)).", "g * out * (1 - out)"},
{"relu", Activation, "x", Number, R::Same, [](X x) { return max(x[0], 0); }, -kAll, kAll, 0, N::Propagates, "max(x, 0).", "where(out <= 0, 0, g)"},
{"leaky_relu", Activation, "x", Number, R::Float, leaky_relu, -1e30, 1e30, 1, N::Propagates, "x, or negative_slope * x below 0.", "where(x > 0, g, g * negative_slope)", {{{"negative_slope", 0.01}}}},
{"gelu", Activation, "x", Number, R::Float, gelu, -1e30, 1e30, 2, N::Propagates, "x / 2 * (1 + erf(x / sqrt(2))).", "g * slope_of_gelu(x)", {}, false, kOperand},
{"gelu_tanh", Activation, "x", Number, R::Float, gelu_tanh, -1e10, 1e10, 4, N::Propagates, "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).", "g * slope_of_gelu_tanh(x)", {}, false, kOperand},
{"silu", Activation, "x", Number, R::Float, [](X x) { return x[0] * call(Op::Sigmoid, x[0]); }, -80, 1e30, 3, N::Propagates, "x * sigmoid(x).", "g * (sigmoid(x) + out * (1 - sigmoid(x)))"},
{"softplus", Activation, "x", Number, R::Float, softplus, -80, 1e30, 3, N::Propagates, "log(1 + exp(x)) without overflow.", "g * sigmoid(x)"},
{"elu", Activation, "x", Number, R::Float, elu, -1e30, 1e30, 3, N::Propagates, "x, or alpha * (exp(x) - 1) below 0.", "where(x > 0, g, g * (out + alpha))", {{{"alpha", 1}}}},

{"eq", Comparison, "a, b", Any, R::Test, binary<Op::Eq>, -kAll, kAll, 0, N::None, "a == b; false with NaN.", ""},
{"ne", Comparison, "a, b", Any, R::Test, binary<Op::Ne>, -kAll, kAll, 0, N::None, "a != b; true with NaN.", ""},
{"lt", Comparison, "a, b", Any, R::Test, [](X x) { return x.from == DType::Bool ? (!x[0]) & x[1] : x[0] < x[1]; }, -kAll, kAll, 0, N::None, "a < b; false with NaN.", ""},
{"le", Comparison, "a, b", Any, R::Test, [](X x) { return x.from == DType::Bool ? (!x[0]) | x[1] : x[0] <= x[1]; }, -kAll, kAll, 0, N::None, "a <= b; false with NaN.", ""},
{"gt", Comparison, "a, b", Any, R::Test, [](X x) { return x.from == DType::Bool ? x[0] & !x[1] : x[0] > x[1]; }, -kAll, kAll, 0, N::None, "a > b; false with NaN.", ""},
{"ge", Comparison, "a, b", Any, R::Test, [](X x) { return x.from == DType::Bool ? x[0] | !x[1] : x[0] >= x[1]; }, -kAll, kAll, 0, N::None, "a >= b; false with NaN.", ""},
{"isnan", Comparison, "x", Any, R::Test, [](X x) { return float_test<Op::IsNan>(x, false); }, -kAll, kAll, 0, N::None, "Whether x is NaN.", ""},
{"isinf", Comparison, "x", Any, R::Test, [](X x) { return float_test<Op::IsInf>(x, false); }, -kAll, kAll, 0, N::None, "Whether x is infinite.", ""},
{"isfinite", Comparison, "x", Any, R::Test, [](X x) { return float_test<Op::IsFinite>(x, true); }, -kAll, kAll, 0, N::None, "Whether x is neither NaN nor infinite.", ""},
{"signbit", Comparison, "x", Any, R::Test, signbit_of, -kAll, kAll, 0, N::None, "Whether the sign is minus, of -0 too.", ""},

{"logical_and", Logic, "a, b", Any, R::Test, logical<Op::And>, -kAll, kAll, 0, N::None, "Whether both differ from 0.", ""},
{"logical_or", Logic, "a, b", Any, R::Test, logical<Op::Or>, -kAll, kAll, 0, N::None, "Whether one or both differ from 0.", ""},
{"logical_xor", Logic, "a, b", Any, R::Test, logical<Op::Xor>, -kAll, kAll, 0, N::None, "Whether exactly one differs from 0.", ""},
{"logical_not", Logic, "x", Any, R::Test, [](X x) { return !x.builder.cast(x[0], DType::Bool); }, -kAll, kAll, 0, N::None, "Whether x is 0.", ""},
{"bitwise_and", Logic, "a, b", IntegerOrBool, R::Same, binary<Op::And>, -kAll, kAll, 0, N::None, "a & b.", ""},
{"bitwise_or", Logic, "a, b", IntegerOrBool, R::Same, binary<Op::Or>, -kAll, kAll, 0, N::None, "a | b.", ""},
{"bitwise_xor", Logic, "a, b", IntegerOrBool, R::Same, binary<Op::Xor>, -kAll, kAll, 0, N::None, "a ^ b.", ""},
{"bitwise_not", Logic, "x", IntegerOrBool, R::Same, unary<Op::Not>, -kAll, kAll, 0, N::None, "~x.", ""},
{"shift_left", Logic, "a, b", Integer, R::Shift, shift<Op::Shl>, -kAll, kAll, 0, N::None, "a * 2^b, wrapping; b counts modulo the width of a.", ""},
{"shift_right", Logic, "a, b", Integer, R::Shift, shift<Op::Shr>, -kAll, kAll, 0, N::None, "a / 2^b rounded down; b counts modulo the width of a.", ""},
{"where", Logic, "condition, a, b", Any, R::Choice, [](X x) { return select(x[0], x[1], x[2]); }, -kAll, kAll, 0, N::Special, "a where the condition holds, else b.", "; where(condition, g, 0); where(condition, 0, g)"},
};
// clang-format on

}  // namespace

std::span<const ElementwiseOp> elementwise_table() { return kTable; }

const ElementwiseOp* find_elementwise(std::string_view name) {
  for (const ElementwiseOp& op : kTable)
    if (op.name == name) return &op;
  return nullptr;
}

const ElementwiseOp& elementwise(std::string_view name) {
  if (const ElementwiseOp* op = find_elementwise(name)) return *op;
  throw core::error(core::Text::InternalError, fmt::format("no operation {}", name));
}

}  // namespace hologram::graph
