// mean, var, std, norm and prod: finite where the result is, whatever they are on the way.
#include "graph/statistics.hpp"

#include <cmath>

#include "hologram/ops.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using program::Combine;
using tensor::accumulator;
using tensor::apply_internal;
using tensor::float_dtype;
using tensor::reduce_where;
using tensor::Reducer;

namespace rows = graph::statistics;

namespace {

// Of rows of f32 or f64; axes stay.
struct Moments {
  Tensor sum, least, greatest;

  Moments(const Reducer& r, const Tensor& x)
      : sum(r.kept(x, Combine::Add)),
        least(r.kept(x, Combine::Min)),
        greatest(r.kept(x, Combine::Max)) {}
};

// Whether a sum of such numbers can be beyond what it is made in.
bool can_overflow(DType t) { return is_float(t) && t != DType::F16; }

// Differences from the least element are exact in the integers' own width, and of them f32 keeps
// what it would lose of the elements. The spread is the same.
Tensor near_zero(const Reducer& r, const Tensor& x) {
  if (!is_integer(x.dtype()) || size_of(x.dtype()) < 4) return x.to(accumulator(r.to()));
  const DType distance = size_of(x.dtype()) == 8 ? DType::U64 : DType::U32;
  return (x.to(distance) - r.kept(x, Combine::Min).to(distance)).to(r.to());
}

// `finished` makes the result of the deviations from the center, their squares, and the scale that
// keeps these near 1.
Tensor spread(const char* name, const Tensor& x, const Axes& axes, double correction, bool keepdims,
              const graph::ElementwiseOp& finished) {
  const Reducer r(name, x, axes, keepdims);
  const Tensor wide = near_zero(r, x);
  const DType type = wide.dtype();
  const double n = static_cast<double>(r.count());
  const Moments moments(r, wide);
  const Tensor center =
      apply_internal(rows::kCenter, type, {moments.sum, moments.least, moments.greatest}, {n});
  const Tensor scale = apply_internal(rows::kScaleOfRange, type, {moments.least, moments.greatest});
  const Tensor deviation = apply_internal(rows::kDeviation, type, {wide, center, scale});
  const Tensor result = apply_internal(
      finished, type,
      {r.kept(deviation, Combine::Add), r.kept(square(deviation), Combine::Add), scale},
      {n, std::max(0.0, n - correction)});
  return r.without(result).to(r.to());
}

// Of |x|^order, each once plain and, where that is no number or too small to be exact, once more
// beside the largest (of negative orders the smallest) element.
Tensor norm_by_powers(const Reducer& r, const Tensor& size, double order) {
  const DType type = size.dtype();
  const double least = type == DType::F64 ? 0x1p-960 : 0x1p-80;
  const auto powers = [&](const Tensor& x) { return order == 2 ? square(x) : pow(x, order); };
  const Tensor sum = r.kept(powers(size), Combine::Add);
  const Tensor guard = apply_internal(rows::kOutOfRange, DType::Bool, {sum}, {least});
  const Tensor decisive =
      reduce_where(guard, size, order > 0 ? Combine::Max : Combine::Min, r.axes);
  const Tensor scale = apply_internal(rows::kScaleOfMagnitude, type, {decisive});
  const Tensor scaled = reduce_where(guard, powers(size * scale), Combine::Add, r.axes);
  if (order == 2) return apply_internal(rows::kNorm2, type, {sum, scaled, scale}, {least});
  return apply_internal(rows::kNorm, type, {sum, scaled, scale}, {least, order});
}

}  // namespace

// Factors are multiplied in an order of their own: some may be beyond what the dtype holds
// together, and then meet a 0.
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("prod", x, axes, keepdims);
  const DType to = tensor::sum_dtype(x.dtype());
  const tensor::Converted converted(x, accumulator(to));
  const Tensor& wide = *converted;
  if (!is_float(to)) return r.run(wide, Combine::Mul);
  const Tensor product = r.kept(wide, Combine::Mul), guard = isnan(product);
  const Tensor has_zero = reduce_where(guard, wide == 0, Combine::Max, r.axes);
  const Tensor is_finite = reduce_where(guard, isfinite(wide), Combine::Min, r.axes);
  const Tensor result =
      apply_internal(rows::kProduct, wide.dtype(), {product, has_zero, is_finite});
  return r.without(result).to(to);
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("mean", x, axes, keepdims);
  const tensor::Converted converted(x, accumulator(r.to()));
  const Tensor& wide = *converted;
  const Moments moments(r, wide);
  Tensor shrunk = moments.sum;
  if (can_overflow(x.dtype())) {
    const Tensor guard = apply_internal(rows::kOverflows, DType::Bool, {moments.sum});
    shrunk = reduce_where(guard, apply_internal(rows::kShrunk, wide.dtype(), {wide}), Combine::Add,
                          r.axes);
  }
  const Tensor result = apply_internal(rows::kMean, wide.dtype(),
                                       {moments.sum, moments.least, moments.greatest, shrunk},
                                       {static_cast<double>(r.count())});
  return r.without(result).to(r.to());
}

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  return spread("var", x, axes, correction, keepdims, rows::kVariance);
}
Tensor std(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  return spread("std", x, axes, correction, keepdims, rows::kStandardDeviation);
}

Tensor norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const Reducer r("norm", x, axes, keepdims);
  const Tensor size = abs(x.to(accumulator(r.to())));
  if (std::isinf(order)) {
    r.refuse_empty();
    return r.run(size, order > 0 ? Combine::Max : Combine::Min).to(r.to());
  }
  if (order == 1) return r.run(size, Combine::Add).to(r.to());
  if (order == 0) return r.run((size != 0).to(size.dtype()), Combine::Add).to(r.to());
  return r.without(norm_by_powers(r, size, order)).to(r.to());
}

}  // namespace hologram::ops
