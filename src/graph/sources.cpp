// Rows of expressions that make tensors from nothing, and the cast.
#include <numbers>

#include "graph/elementwise.hpp"

namespace hologram::graph::source {
namespace {

using program::apply;
using program::Builder;
using program::Op;
using program::Value;
using X = const Operands&;

// Attributes are read as they come; the rows of the public table have at most two, these more.
Value full_of(X x) { return x.attribute(0); }

Value number_in(X x, DType type) { return x.builder.cast(x.number, type); }

Value arange_of(X x) {
  return fma(number_in(x, x.attribute(1).type()), x.attribute(1), x.attribute(0));
}

// The last element is the end itself, whatever the rounding of the step.
Value linspace_of(X x) {
  const Value number = number_in(x, DType::I64);
  const Value at = fma(number_in(x, x.attribute(1).type()), x.attribute(1), x.attribute(0));
  return select(number == x.attribute(3), x.attribute(2), at);
}

Value band_of(X x) {
  const Value number = number_in(x, DType::I64), columns = x.attribute(0);
  const Value diagonal = number % columns - number / columns;
  const Value inside = (diagonal >= x.attribute(1)) & (diagonal <= x.attribute(2));
  return x.builder.cast(inside, compute_type(x.to));
}

// Philox4x32-10: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The
// key is the seed; the counter is the number of the operation, then that of the element.
std::array<Value, 4> philox(X x) {
  Builder& b = x.builder;
  const auto word = [&](uint32_t c) { return b.constant_bits(DType::U32, c); };
  const Value number = b.cast(x.number, DType::U64);
  Value key0 = x.attribute(0), key1 = x.attribute(1);
  std::array<Value, 4> c = {x.attribute(2), x.attribute(3), b.cast(number, DType::U32),
                            b.cast(number >> b.constant_bits(DType::U32, 32), DType::U32)};
  const Value multiplier0 = word(0xD2511F53), multiplier1 = word(0xCD9E8D57);
  for (int round = 0; round < 10; round++) {
    const Value high0 = apply(Op::MulHi, {multiplier0, c[0]}), low0 = multiplier0 * c[0];
    const Value high1 = apply(Op::MulHi, {multiplier1, c[2]}), low1 = multiplier1 * c[2];
    c = {high1 ^ c[1] ^ key0, low1, high0 ^ c[3] ^ key1, low0};
    key0 = key0 + word(0x9E3779B9);
    key1 = key1 + word(0xBB67AE85);
  }
  return c;
}

// Numbers in [0, 1), of as many bits as the type holds: more would be rounded, some to 1.
Value unit(X x, Value word0, Value word1, DType type) {
  Builder& b = x.builder;
  const auto by = [&](uint32_t n) { return b.constant_bits(DType::U32, n); };
  if (type == DType::F16) return b.cast(word0 >> by(21), DType::F32) * 0x1p-11;
  if (type == DType::BF16) return b.cast(word0 >> by(24), DType::F32) * 0x1p-8;
  if (type == DType::F32) return b.cast(word0 >> by(8), DType::F32) * 0x1p-24;
  const Value high = b.cast(word0 >> by(5), DType::F64), low = b.cast(word1 >> by(6), DType::F64);
  return (high * 0x1p26 + low) * 0x1p-53;
}

Value uniform_of(X x) {
  const auto words = philox(x);
  return unit(x, words[0], words[1], x.to);
}

// G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.
Value normal_of(X x) {
  const auto words = philox(x);
  const DType wide = compute_type(x.to);
  const Value radius = 1 - unit(x, words[0], words[1], wide);  // in (0, 1]
  const Value angle = unit(x, words[2], words[3], wide) * (2 * std::numbers::pi);
  return apply(Op::Sqrt, {apply(Op::Log, {radius}) * -2}) * apply(Op::Cos, {angle});
}

// The upper half of word * range lies in [0, range).
Value integers_of(X x) {
  Builder& b = x.builder;
  const auto words = philox(x);
  const Value word = b.cast(words[0], DType::U64) |
                     (b.cast(words[1], DType::U64) << b.constant_bits(DType::U32, 32));
  const Value offset = apply(Op::MulHi, {word, x.attribute(5)});
  return b.cast(b.bitcast(offset, DType::I64) + x.attribute(4), compute_type(x.to));
}

struct Limits {
  double low, high;
};
Limits limits_of(DType narrow) {
  switch (narrow) {
    case DType::I8: return {-128, 127};
    case DType::U8: return {0, 255};
    case DType::I16: return {-32768, 32767};
    default: return {0, 65535};
  }
}

// Integers wrap; floats saturate, also to the narrow types; to f16 and bf16 they are rounded here,
// so that a cast there and back does the same whether or not it is fused.
Value cast_of(X x) {
  Builder& b = x.builder;
  const bool narrow = is_integer(x.to) && size_of(x.to) < 4;
  const Value converted = [&] {
    if (!narrow || !is_float(x.from)) return b.cast(x[0], compute_type(x.to));
    const Limits limits = limits_of(x.to);
    return b.cast(min(max(x[0], limits.low), limits.high), compute_type(x.to));
  }();
  if (x.to == DType::F16) return apply(Op::RoundF16, {converted});
  if (x.to == DType::BF16) return apply(Op::RoundBF16, {converted});
  return converted;
}

constexpr ElementwiseOp row(std::string_view name, std::string_view parameters,
                            Expression expression, bool indexed) {
  return {name, Group::Internal, parameters, Accepts::Any, Rule::Given, expression, 0, 0,
          0,    Nan::None,       {},         {},           indexed};
}

}  // namespace

const ElementwiseOp kFull = row("full", "", full_of, false);
const ElementwiseOp kArange = row("arange", "", arange_of, true);
const ElementwiseOp kLinspace = row("linspace", "", linspace_of, true);
const ElementwiseOp kBand = row("band", "", band_of, true);
const ElementwiseOp kUniform = row("uniform", "", uniform_of, true);
const ElementwiseOp kNormal = row("normal", "", normal_of, true);
const ElementwiseOp kIntegers = row("integers", "", integers_of, true);
const ElementwiseOp kCast = row("cast", "x", cast_of, false);
const ElementwiseOp kCopy = row(
    "copy", "x", [](X x) { return x[0]; }, false);

}  // namespace hologram::graph::source
