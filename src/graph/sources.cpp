// Rows of expressions that make tensors from nothing, and the cast.
#include <numbers>

#include "graph/elementwise.hpp"

namespace hologram::graph {

program::Value wrapped(program::Value value, DType to) {
  if (!is_integer(to) || size_of(to) >= 4) return value;
  return program::apply(size_of(to) == 1 ? program::Op::Wrap8 : program::Op::Wrap16, {value});
}

}  // namespace hologram::graph

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

using Words = std::array<Value, 4>;

// Philox4x32-10: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The
// key is the seed; the counter is the number of the operation, then that of the block.
Words philox(X x, Value block) {
  Builder& b = x.builder;
  const auto word = [&](uint32_t c) { return b.constant_bits(DType::U32, c); };
  // Words alone, where there are no more elements than these number: 64 bits take twice as long.
  const bool narrow = size_of(block.type()) == 4;
  const Value high = narrow ? word(0) : b.cast(block >> 32, DType::U32);
  Value key0, key1, number0, number1;
  if (x.values.empty()) {
    key0 = x.attribute(0), key1 = x.attribute(1);
    number0 = x.attribute(2), number1 = x.attribute(3);
  } else {
    key0 = x[0], key1 = x[1];
    number0 = x[2] + x.attribute(0);
    number1 = x[3] + b.cast(number0 < x[2], DType::U32);
  }
  Words c = {number0, number1, b.cast(block, DType::U32), high};
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

// The block of an element, which so many share, and which of them it is.
struct Drawn {
  Words words;
  Value turn;

  // The one of those that stand for one turn each.
  template <size_t n>
  Value of_turn(const std::array<Value, n>& each) const {
    Value one = each[n - 1];
    for (size_t k = n - 1; k-- > 0;) one = select(turn == static_cast<int64_t>(k), each[k], one);
    return one;
  }
};

Drawn draw(X x, int64_t sharing) {
  if (x.of_block) {
    const auto [tile, lane, turn] = *x.of_block;
    const Value shorter = tile * (kElementsOfBlock / sharing) + turn / sharing;
    return {philox(x, shorter * kBlocksOfTile + lane),
            x.builder.constant(lane.type(), turn % sharing)};
  }
  const Value all = x.number / kBlocksOfTile, lane = x.number % kBlocksOfTile;
  return {philox(x, all / sharing * kBlocksOfTile + lane), all % sharing};
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
  if (x.to != DType::F64) {
    const Drawn d = draw(x, 4);
    const Value word = d.of_turn(d.words);
    return unit(x, word, word, x.to);
  }
  const Drawn d = draw(x, 2);
  const auto& [a, b, c, e] = d.words;
  return unit(x, d.of_turn<2>({a, c}), d.of_turn<2>({b, e}), x.to);
}

// G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958: two
// numbers by the cosine and the sine of one angle, of which a quarter of a turn makes the other.
Value normal_of(X x) {
  const DType wide = compute_type(x.to);
  const bool words_alone = wide == DType::F32;
  const Drawn d = draw(x, words_alone ? 4 : 2);
  const auto& [a, b, c, e] = d.words;
  const Value first = words_alone ? d.of_turn<4>({a, a, c, c}) : a,
              second = words_alone ? d.of_turn<4>({b, b, e, e}) : c;
  const Value radius = 1 - unit(x, first, b, wide);  // in (0, 1]
  const Value back =
      select(d.turn % 2 == 0, x.builder.constant(wide, 0.0), x.builder.constant(wide, 0.25));
  const Value angle = (unit(x, second, e, wide) - back) * (2 * std::numbers::pi);
  return apply(Op::Sqrt, {apply(Op::Log, {radius}) * -2}) * apply(Op::Cos, {angle});
}

// The upper half of word * range lies in [0, range).
Value integers_of(X x) {
  Builder& b = x.builder;
  const Drawn d = draw(x, 2);
  const auto both = [&](Value low, Value high) {
    return b.cast(low, DType::U64) | (b.cast(high, DType::U64) << b.constant_bits(DType::U32, 32));
  };
  const Value word =
      both(d.of_turn<2>({d.words[0], d.words[2]}), d.of_turn<2>({d.words[1], d.words[3]}));
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

// Integers wrap; floats saturate, also to the narrow types; to f16 and bf16 they are rounded here.
// So a cast does the same whether its result goes through memory or is used in the same kernel.
Value cast_of(X x) {
  Builder& b = x.builder;
  const bool narrow = is_integer(x.to) && size_of(x.to) < 4;
  if (narrow && is_float(x.from)) {
    const Limits limits = limits_of(x.to);
    return b.cast(min(max(x[0], limits.low), limits.high), compute_type(x.to));
  }
  const Value converted = wrapped(b.cast(x[0], compute_type(x.to)), x.to);
  if (x.to == DType::F16) return apply(Op::RoundF16, {converted});
  if (x.to == DType::BF16) return apply(Op::RoundBF16, {converted});
  return converted;
}

}  // namespace

const ElementwiseOp kFull = internal_row("full", "", full_of);
const ElementwiseOp kArange = internal_row("arange", "", arange_of, true);
const ElementwiseOp kLinspace = internal_row("linspace", "", linspace_of, true);
const ElementwiseOp kUniform = internal_row("uniform", "", uniform_of, true, true);
const ElementwiseOp kNormal = internal_row("normal", "", normal_of, true, true);
const ElementwiseOp kIntegers = internal_row("integers", "", integers_of, true, true);
const ElementwiseOp kUniformOf = internal_row("uniform", "a, b, c, d", uniform_of, true, true);
const ElementwiseOp kNormalOf = internal_row("normal", "a, b, c, d", normal_of, true, true);
const ElementwiseOp kIntegersOf = internal_row("integers", "a, b, c, d", integers_of, true, true);
const ElementwiseOp kCast = internal_row("cast", "x", cast_of);
const ElementwiseOp kCopy = internal_row("copy", "x", [](X x) { return x[0]; });

}  // namespace hologram::graph::source
