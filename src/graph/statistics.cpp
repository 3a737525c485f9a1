#include "graph/statistics.hpp"

#include <limits>

namespace hologram::graph::statistics {
namespace {

using program::apply;
using program::Builder;
using program::Op;
using program::Value;
using X = const Operands&;

constexpr double kShrinks = 0x1p-64;

Value is_finite(Value x) { return apply(Op::IsFinite, {x}); }
Value clamp(Value x, Value low, Value high) { return min(max(x, low), high); }

Value out_of_range(Value sum, Value least) { return !(is_finite(sum) & (sum >= least)); }

// Through the bits of the exponent. `size` is not negative, or NaN.
Value scale_of(Value size) {
  Builder& b = *size.builder();
  const bool wide = size.type() == DType::F64;
  const DType word = wide ? DType::U64 : DType::U32;
  const int mantissa = wide ? 52 : 23;
  const int64_t bias = wide ? 1023 : 127;
  const Value by = b.constant_bits(DType::U32, static_cast<uint64_t>(mantissa));
  const Value exponent = b.bitcast(size, word) >> by;
  const Value inverse = b.constant(word, 2 * bias) - min(exponent, 2 * bias - 1);
  const Value scale = b.bitcast(inverse << by, size.type());
  const Value one = b.constant(size.type(), 1.0);
  return select(is_finite(size) & (size > 0), scale, one);
}

Value mean_of(X x) {
  const Value sum = x[0], count = x.attribute(0);
  const Value mean = select(is_finite(sum), sum / count, x[3] / count * (1 / kShrinks));
  return clamp(mean, x[1], x[2]);
}

Value center_of(X x) {
  const Value sum = x[0], least = x[1], greatest = x[2];
  const Value middle = least * 0.5 + greatest * 0.5;
  return select(is_finite(sum), clamp(sum / x.attribute(0), least, greatest), middle);
}

// What the center is off by is taken out of the squares. Sums of both round, so that the
// difference may be a little below 0.
Value scaled_variance(X x) {
  const Value deviations = x[0], squares = x[1];
  return max(squares - deviations * deviations / x.attribute(0), 0) / x.attribute(1);
}

Value norm_of(X x, Value plain, Value scaled) {
  return select(out_of_range(x[0], x.attribute(0)), scaled / x[2], plain);
}

}  // namespace

const ElementwiseOp kOverflows =
    internal_row("overflows", "sum", [](X x) { return !is_finite(x[0]); });
const ElementwiseOp kOutOfRange =
    internal_row("out_of_range", "sum", [](X x) { return out_of_range(x[0], x.attribute(0)); });
const ElementwiseOp kShrunk = internal_row("shrunk", "x", [](X x) { return x[0] * kShrinks; });
const ElementwiseOp kMean = internal_row("mean", "sum, least, greatest, shrunk", mean_of);
const ElementwiseOp kCenter = internal_row("center", "sum, least, greatest", center_of);
const ElementwiseOp kScaleOfRange = internal_row(
    "scale_of_range", "least, greatest", [](X x) { return scale_of(x[1] * 0.5 - x[0] * 0.5); });
const ElementwiseOp kScaleOfMagnitude =
    internal_row("scale_of_magnitude", "x", [](X x) { return scale_of(x[0]); });
const ElementwiseOp kDeviation = internal_row("deviation", "x, center, scale",
                                              [](X x) { return fma(x[0], x[2], -(x[1] * x[2])); });
const ElementwiseOp kVariance = internal_row("variance", "deviations, squares, scale",
                                             [](X x) { return scaled_variance(x) / x[2] / x[2]; });
const ElementwiseOp kStandardDeviation =
    internal_row("standard_deviation", "deviations, squares, scale",
                 [](X x) { return apply(Op::Sqrt, {scaled_variance(x)}) / x[2]; });
const ElementwiseOp kNorm2 = internal_row("norm2", "sum, scaled, scale", [](X x) {
  return norm_of(x, apply(Op::Sqrt, {x[0]}), apply(Op::Sqrt, {x[1]}));
});
const ElementwiseOp kNorm = internal_row("norm", "sum, scaled, scale", [](X x) {
  const Value root = x.builder.constant(x.to, 1.0) / x.attribute(1);
  return norm_of(x, apply(Op::Pow, {x[0], root}), apply(Op::Pow, {x[1], root}));
});
const ElementwiseOp kProduct = internal_row("product", "product, has_zero, is_finite", [](X x) {
  const Value zero = x.builder.constant(x.to, 0.0);
  return select(apply(Op::IsNan, {x[0]}) & x[1] & x[2], zero, x[0]);
});

}  // namespace hologram::graph::statistics
