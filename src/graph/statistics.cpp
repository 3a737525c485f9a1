#include "graph/statistics.hpp"

#include <limits>

namespace hologram::graph::statistics {
namespace {

using program::apply;
using program::Builder;
using program::Op;
using program::Value;
using X = const Operands&;

Value is_finite(Value x) { return apply(Op::IsFinite, {x}); }
Value root(Value x) { return apply(Op::Sqrt, {x}); }
Value square(Value x) { return x * x; }
Value clamp(Value x, Value low, Value high) { return min(max(x, low), high); }

// The power of two that brings a number near 1, through the bits of its exponent; 1 for 0 and what
// is not finite. `size` is not negative, or NaN.
Value scale_of(Value size) {
  Builder& b = *size.builder();
  const bool wide = size.type() == DType::F64;
  const DType word = wide ? DType::U64 : DType::U32;
  const int64_t bias = wide ? 1023 : 127;
  const Value mantissa = b.constant_bits(DType::U32, wide ? 52 : 23);
  const Value exponent = b.bitcast(size, word) >> mantissa;
  const Value inverse = b.constant(word, 2 * bias) - min(exponent, 2 * bias - 1);
  const Value scale = b.bitcast(inverse << mantissa, size.type());
  return select(is_finite(size) & (size > 0), scale, b.constant(size.type(), 1.0));
}

Value scale_of_range(Value least, Value greatest) { return scale_of(greatest * 0.5 - least * 0.5); }

// What a guard seldom asks for is computed only then.
template <class Careful>
Value where_guarded(Value guard, Value plain, const Careful& careful) {
  Builder& b = *plain.builder();
  const program::Var result = b.var(plain);
  b.if_(guard, [&] { b.set(result, careful()); });
  return b.get(result);
}

Value distance(X x) { return apply(Op::Abs, {x[0] - x[1]}); }

// If rounding took the mean beyond an end, the elements are near that end on average.
Value mean_guard(X x) {
  return !(is_finite(x[0]) & (x[1] > apply(Op::Abs, {x[0]}) * x.attribute(0)));
}

Value mean_of(X x) {
  const Value plain = x[1];
  return where_guarded(x[0], plain, [&] {
    const Value of_shrunk = x[4] / x.attribute(0) * kGrows;
    return clamp(select(is_finite(plain), plain, of_shrunk), x[2], x[3]);
  });
}

Value squared_deviation(X x) { return square(x[0] - x[1] - x[2]); }

// From somewhere near the mean; the difference of two extremes is finite once they are scaled.
Value scaled_deviation(X x) {
  const Value sum = x[1], least = x[2], greatest = x[3];
  const Value mean = select(is_finite(sum), sum / x.attribute(0), x[4] / x.attribute(0) * kGrows);
  const Value center = clamp(mean, least, greatest);
  const Value scale = scale_of_range(least, greatest);
  return fma(x[0], scale, -(center * scale));
}

Value spread_guard(X x) {
  const Value first = x[0], distance = x[1], squares = x[2];
  const Value enough = (squares >= x.attribute(0)) & (squares >= square(distance) * x.attribute(1));
  const Value apart = squares >= square(first + distance) * x.attribute(2);
  return !(is_finite(squares) & enough & apart);
}

// What deviates on the whole is the center's rounding, and taken out.
Value scaled_variance(X x) { return max(x[3] - square(x[2]) / x.attribute(0), 0) / x.attribute(1); }
Value variance_of(X x) {
  return where_guarded(x[0], x[1] / x.attribute(1), [&] {
    const Value scale = scale_of_range(x[4], x[5]);
    return scaled_variance(x) / scale / scale;
  });
}
Value standard_deviation_of(X x) {
  return where_guarded(x[0], root(x[1] / x.attribute(1)),
                       [&] { return root(scaled_variance(x)) / scale_of_range(x[4], x[5]); });
}

// Of a sum of powers, by what makes a norm of it.
template <class Norm>
Value norm_of(X x, const Norm& norm) {
  return where_guarded(x[0], norm(x[1]), [&] { return norm(x[2]) / scale_of(x[3]); });
}
Value norm_of_order(X x) {
  const Value inverse = x.builder.constant(x.to, 1.0) / x.attribute(0);
  return norm_of(x, [&](Value sum) { return apply(Op::Pow, {sum, inverse}); });
}

Value product_of(X x) {
  const Value zero = x.builder.constant(x.to, 0.0);
  return select(apply(Op::IsNan, {x[0]}) & x[1] & x[2], zero, x[0]);
}

}  // namespace

const ElementwiseOp kDistance = internal_row("distance", "x, mean", distance);
const ElementwiseOp kMeanGuard = internal_row("mean_guard", "mean, distances", mean_guard);
const ElementwiseOp kShrunk = internal_row("shrunk", "x", [](X x) { return x[0] * kShrinks; });
const ElementwiseOp kMean = internal_row("mean", "guard, plain, least, greatest, shrunk", mean_of);

const ElementwiseOp kSquaredDeviation =
    internal_row("squared_deviation", "x, first, distance", squared_deviation);
const ElementwiseOp kSpreadGuard =
    internal_row("spread_guard", "first, distance, squares", spread_guard);
const ElementwiseOp kScaledDeviation =
    internal_row("scaled_deviation", "x, sum, least, greatest, shrunk", scaled_deviation);
const ElementwiseOp kScaledSquaredDeviation =
    internal_row("scaled_squared_deviation", "x, sum, least, greatest, shrunk",
                 [](X x) { return square(scaled_deviation(x)); });
constexpr std::string_view kSpreads = "guard, squares, scaled, scaled_squares, least, greatest";
const ElementwiseOp kVariance = internal_row("variance", kSpreads, variance_of);
const ElementwiseOp kStandardDeviation =
    internal_row("standard_deviation", kSpreads, standard_deviation_of);

const ElementwiseOp kNormGuard = internal_row(
    "norm_guard", "sum", [](X x) { return !(is_finite(x[0]) & (x[0] >= x.attribute(0))); });
const ElementwiseOp kScaled =
    internal_row("scaled", "x, decisive", [](X x) { return x[0] * scale_of(x[1]); });
const ElementwiseOp kNorm2 =
    internal_row("norm2", "guard, sum, scaled, decisive", [](X x) { return norm_of(x, root); });
const ElementwiseOp kNorm = internal_row("norm", "guard, sum, scaled, decisive", norm_of_order);

const ElementwiseOp kProduct = internal_row("product", "product, has_zero, is_finite", product_of);

}  // namespace hologram::graph::statistics
