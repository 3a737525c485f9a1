#include "graph/elementwise_functions.hpp"

#include <limits>
#include <numbers>

namespace hologram::graph {
namespace {

using program::apply;
using program::Builder;
using program::Op;
using program::Operand;
using program::Value;
using X = const Operands&;

Value call(Op op, Operand a) { return apply(op, {a}); }
Value sqrt(Operand a) { return call(Op::Sqrt, a); }
Value log1p(Operand a) { return call(Op::Log1p, a); }
Value abs(Operand a) { return call(Op::Abs, a); }
Value copysign(Operand a, Operand b) { return apply(Op::CopySign, {a, b}); }
Value or_nan(Value x, Value result) { return select(call(Op::IsNan, x), x, result); }
// From there on the square swallows a 1.
constexpr double kFar = 0x1p28;
Value log_of_twice(Value x) { return call(Op::Log, x) + std::numbers::ln2; }

// How f32 and f64 are made of bits.
struct Format {
  Builder& builder;
  DType type;
  bool wide = type == DType::F64;
  DType word = wide ? DType::U64 : DType::U32;
  int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;

  Value bits(Value x) const { return builder.bitcast(x, word); }
  Value number(Value bits) const { return builder.bitcast(bits, type); }
  Value shift() const { return builder.constant_bits(DType::U32, static_cast<uint64_t>(mantissa)); }
  Value exponent(Value x) const { return builder.cast(bits(x) >> shift(), DType::I32) - bias; }
  Value power_of_2(Value e) const { return number(builder.cast(e + bias, word) << shift()); }
};

}  // namespace

Value asinh_of(X x) {
  const Value a = abs(x[0]);
  const Value near = log1p(a + a * a / (1 + sqrt(fma(a, a, 1))));
  return or_nan(x[0], copysign(select(a > kFar, log_of_twice(a), near), x[0]));
}

Value acosh_of(X x) {
  const Value more = x[0] - 1, near = log1p(more + sqrt(more * (more + 2)));
  const Value nothing = x.builder.constant(x.compute(), std::numeric_limits<double>::quiet_NaN());
  const Value far = select(x[0] > kFar, log_of_twice(x[0]), near);
  return or_nan(x[0], select(x[0] < 1, nothing, far));
}

Value atanh_of(X x) {
  const Value a = abs(x[0]);
  return or_nan(x[0], copysign(0.5 * log1p(2 * a / (1 - a)), x[0]));
}

// Of a number from 1 to below 8, times a power of 8. Each step of Halley's trebles the digits, and
// adds what is missing, so that its own rounding does not matter but for the last one's.
Value cbrt_of(X x) {
  const Format format{x.builder, x.compute()};
  const Value a = abs(x[0]);
  const bool wide = format.wide;
  const Value is_denormal = a < (wide ? 0x1p-1022 : 0x1p-126);
  const Value normal = select(is_denormal, a * (wide ? 0x1p54 : 0x1p24), a);
  const Value e = format.exponent(normal);
  constexpr int kAbove0 = 1536;  // dividend, of which the quotient is rounded down
  const Value third = (e + kAbove0) / 3 - kAbove0 / 3;
  const Value m = normal * format.power_of_2(-(third + third / 2)) *
                  format.power_of_2(-(third + third - third / 2));
  Value root = 1 + (m - 1) * (0.221 - 0.0156 * (m - 3));
  for (int step = 0; step < (wide ? 3 : 2); step++) {
    const Value cube = root * root * root;
    root = root - root * ((cube - m) / (2 * cube + m));
  }
  const Value scaled = root * format.power_of_2(third);
  const Value result = select(is_denormal, scaled * (wide ? 0x1p-18 : 0x1p-8), scaled);
  const Value itself = (a == 0) | !call(Op::IsFinite, x[0]);
  return select(itself, x[0], copysign(result, x[0]));
}

// The sine of what is left of x beside a whole number, which is exact.
Value sinc_of(X x) {
  const Value whole = call(Op::Round, x[0]), rest = x[0] - whole;
  const Value half = whole * 0.5, is_odd = call(Op::Floor, half) != half;
  const Value sine = call(Op::Sin, rest * std::numbers::pi);
  const Value signed_sine = select(is_odd, -sine, sine);
  return or_nan(x[0], select(x[0] == 0, 1, signed_sine / (x[0] * std::numbers::pi)));
}

// From the nearer end, so that both ends are exact.
Value lerp_of(X x) {
  const Value way = x[1] - x[0];
  const Value point = select(x[2] < 0.5, fma(x[2], way, x[0]), fma(x[2] - 1, way, x[1]));
  return or_nan(x[0], or_nan(x[1], or_nan(x[2], point)));
}

Value signbit_of(X x) {
  if (is_float(x.from)) return copysign(x.builder.constant(x.compute(), 1.0), x[0]) < 0;
  if (is_signed_integer(x.from)) return x[0] < 0;
  return x.builder.constant_bits(DType::Bool, 0);
}

namespace {

// f16 and bf16 are the f32 whose last digits are 0: their neighbours are that much further on.
Value nextafter_of(X x) {
  const Format format{x.builder, x.compute()};
  const bool f16 = x.from == DType::F16;
  const uint64_t step = f16 ? uint64_t{1} << 13 : x.from == DType::BF16 ? uint64_t{1} << 16 : 1;
  const Value a = x[0], size = abs(a), grows = (x[1] > a) == (a > 0);
  const Value by = x.builder.constant_bits(format.word, step), bits = format.bits(size);
  Value moved = format.number(select(grows, bits + by, bits - by));
  uint64_t least = step;  // above 0
  if (f16) {
    // Below its normal numbers f32 has more digits than f16; and the largest is not f32's.
    const Value even = select(grows, size + 0x1p-24, size - 0x1p-24);
    const Value is_denormal = select(grows, size < 0x1p-14, size <= 0x1p-14);
    moved = select(is_denormal, even, select(call(Op::IsInf, a), 65504, moved));
    least = uint64_t{103} << 23;  // 2^-24
  }
  const Value from_zero = format.number(x.builder.constant_bits(format.word, least));
  const Value next = select(a == 0, copysign(from_zero, x[1]), copysign(moved, a));
  return or_nan(a, or_nan(x[1], select(a == x[1], x[1], next)));
}

}  // namespace

const ElementwiseOp kNextAfter = internal_row("nextafter", "a, b", nextafter_of);

}  // namespace hologram::graph
