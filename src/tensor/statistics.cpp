// mean, var, std, norm and prod: finite where the result is, whatever they are on the way.
#include "graph/statistics.hpp"

#include <cmath>

#include "hologram/ops.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using program::Combine;
using tensor::accumulator;
using tensor::apply_internal;
using tensor::as_number;
using tensor::as_real;
using tensor::can_overflow;
using tensor::composite;
using tensor::reduce_where;
using tensor::Reducer;
using tensor::Tensors;
using tensor::with_gradient;

namespace rows = graph::statistics;
namespace rules = tensor::rules;

namespace {

// Integers that f32 rounds.
bool is_rounded(DType t) { return is_integer(t) && size_of(t) >= 4; }

// Differences from the least element are exact in the integers' own width, and of them f32 keeps
// what it would lose of the elements. The spread is the same.
Tensor distances_from_least(const Reducer& r, const Tensor& guard) {
  const DType distance = size_of(r.x.dtype()) == 8 ? DType::U64 : DType::U32;
  const Tensor least = reduce_where(guard, r.x, Combine::Min, r.axes);
  return (r.x.to(distance) - least.to(distance)).to(r.to());
}

// Least and greatest elements of the rows that a guard names.
struct Range {
  Tensor least, greatest;
  Range(const Reducer& r, const Tensor& guard, const Tensor& x)
      : least(reduce_where(guard, x, Combine::Min, r.axes)),
        greatest(reduce_where(guard, x, Combine::Max, r.axes)) {}
};

double epsilon_of(DType t) { return t == DType::F64 ? 0x1p-53 : 0x1p-24; }
double least_exact_square(DType t) { return t == DType::F64 ? 0x1p-960 : 0x1p-80; }

// Some elements of each row, to tell how far all are from its mean: one of 8192 at the least. Three
// of what is walked by a lane alone, so that hardly a row has them all near its mean by chance; a
// group has soon walked it in vain.
class Sample {
 public:
  Sample(const Reducer& r, const Tensor& x) {
    const auto longest = std::max_element(r.axes.begin(), r.axes.end(),
                                          [&](int a, int b) { return x.size(a) < x.size(b); });
    const int64_t length = x.size(*longest);
    if (r.count() <= kEach) {
      take_each(r, x, *longest, r.axes.back() + 1 == x.rank() ? 1 : std::min<int64_t>(length, 3));
      return;
    }
    if (r.axes.size() == 1 && length <= kMostParts * kEach) {
      take_each(r, x, *longest, (length - 1) / kEach + 1);
      return;
    }
    Tensor& several = parts_.emplace_back(x);
    int64_t left = kEach;
    for (size_t k = r.axes.size(); k-- > 0;) {
      const int64_t there = x.size(r.axes[k]), step = std::min(there, left);
      several = several.slice(r.axes[k], {0, {}, step});
      count *= several.size(r.axes[k]);
      left = std::max<int64_t>(1, left / step);
    }
    in_rows_ = true;
  }
  // Of all of them together.
  Tensor distances(const Reducer& r, const Tensor& mean) const {
    Tensor all;
    for (const Tensor& part : parts_) {
      const Tensor distance = apply_internal(rows::kDistance, mean.dtype(), {part, mean});
      all = all.defined() ? all + distance : distance;
    }
    return in_rows_ ? r.kept(all, Combine::Add) : all;
  }
  int64_t count = 1;

 private:
  static constexpr int64_t kEach = 8192;
  // As many are read by whatever walks the row, where shorter rows of their own would take kernels
  // before and behind them.
  static constexpr int64_t kMostParts = 8;

  // So many elements of a row, along this axis.
  void take_each(const Reducer& r, const Tensor& x, int along, int64_t elements) {
    count = elements;
    for (int64_t i = 0; i < count; i++) {
      Tensor& one = parts_.emplace_back(x);
      for (const int axis : r.axes) {
        const int64_t at = axis == along ? x.size(along) * i / count : 0;
        one = one.slice(axis, {at, at + 1});
      }
    }
  }

  std::vector<Tensor> parts_;
  bool in_rows_ = false;  // each part has elements to be added up, and not one
};

// NaN for each row of no elements.
Tensor of_nothing(const Reducer& r) {
  return r.without(r.kept(r.x.to(r.to()), Combine::Add) / 0.0);
}

// Where the guard holds, the sum of elements of the dtype `given` so shrunk that it is finite;
// `plain` where theirs always is.
Tensor shrunk_sum(const Reducer& r, const Tensor& guard, const Tensor& wide, DType given,
                  const Tensor& plain) {
  if (!can_overflow(given)) return plain;
  return reduce_where(guard, apply_internal(rows::kShrunk, wide.dtype(), {wide}), Combine::Add,
                      r.axes);
}

// `finished` makes the result. Distances from the first element keep what elements that are near to
// each other differ in; unless that one is so far from all others that it is lost of these.
Tensor spread(const Reducer& r, const Tensor& x, double correction,
              const graph::ElementwiseOp& finished) {
  if (r.count() == 0) return of_nothing(r);
  const Tensor wide = x.to(accumulator(r.to()));
  // NOLINTNEXTLINE(misc-redundant-expression): what is not finite has no spread
  if (r.count() == 1) return r.without((wide - wide) / std::max(0.0, 1 - correction)).to(r.to());
  const DType type = wide.dtype();
  const bool rounded = is_rounded(x.dtype());
  const double n = static_cast<double>(r.count()), error = 100 * epsilon_of(type);
  Tensor first = wide;
  for (const int axis : r.axes) first = first.slice(axis, {0, 1});
  const Tensor distance = r.kept(wide - first, Combine::Add) / n;
  const Tensor squares =
      r.kept(apply_internal(rows::kSquaredDeviation, type, {wide, first, distance}), Combine::Add);
  const double far = n * error * error * 1e6, near = rounded ? n * 0x1p-6 : 0;
  const Tensor guard = apply_internal(rows::kSpreadGuard, DType::Bool, {first, distance, squares},
                                      {least_exact_square(type), far, near});
  const Tensor exact = rounded ? distances_from_least(r, guard) : wide;
  const Tensor sum = reduce_where(guard, exact, Combine::Add, r.axes);
  // Any center but the mean would lose digits, also where the sum is beyond the range of the type.
  const Tensor shrunk = shrunk_sum(r, guard, exact, x.dtype(), sum);
  const Range range(r, guard, exact);
  const auto scaled = [&](const graph::ElementwiseOp& row) {
    const Tensor each =
        apply_internal(row, type, {exact, sum, range.least, range.greatest, shrunk}, {n});
    return reduce_where(guard, each, Combine::Add, r.axes);
  };
  const Tensor result =
      apply_internal(finished, type,
                     {guard, squares, scaled(rows::kScaledDeviation),
                      scaled(rows::kScaledSquaredDeviation), range.least, range.greatest},
                     {n, std::max(0.0, n - correction)});
  return r.without(result).to(r.to());
}

// Of |x|^order, each once plain and, where that is no number or too small to be exact, once more
// beside the largest (of negative orders the smallest) element.
Tensor norm_by_powers(const Reducer& r, const Tensor& x, double order) {
  const DType type = x.dtype();
  const double least = least_exact_square(type);
  const auto powers = [&](const Tensor& size) {
    return order == 2 ? square(size) : pow(size, order);
  };
  const Tensor sum = r.kept(powers(order == 2 ? x : abs(x)), Combine::Add);
  const Tensor guard = apply_internal(rows::kNormGuard, DType::Bool, {sum}, {least});
  const Tensor decisive =
      reduce_where(guard, abs(x), order > 0 ? Combine::Max : Combine::Min, r.axes);
  const Tensor scaled = apply_internal(rows::kScaled, type, {abs(x), decisive});
  const Tensor scaled_sum = reduce_where(guard, powers(scaled), Combine::Add, r.axes);
  if (order == 2) return apply_internal(rows::kNorm2, type, {guard, sum, scaled_sum, decisive});
  return apply_internal(rows::kNorm, type, {guard, sum, scaled_sum, decisive}, {order});
}

// Factors are multiplied in an order of their own: some may be beyond what the dtype holds
// together, and then meet a 0.
Tensor product(const Reducer& r, const Tensor& x) {
  const DType to = tensor::sum_dtype(x.dtype());
  if (r.count() == 1) return r.without(x.to(to));
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

Tensor average(const Reducer& r, const Tensor& x) {
  if (r.count() == 1) return r.without(x.to(r.to()));
  const tensor::Converted converted(x, accumulator(r.to()));
  const Tensor& wide = *converted;
  const DType type = wide.dtype();
  if (r.count() == 0) return of_nothing(r);
  // The rounding of the sum moves the mean by 80 units in the last place at most. If that is beyond
  // an end, all elements together are no further from that end, and those of the sample on average
  // as much further as they are fewer.
  const Sample sample(r, wide);
  const double n = static_cast<double>(r.count());
  const double within = 80 * epsilon_of(type) * (n + static_cast<double>(sample.count));
  const Tensor plain = r.kept(wide, Combine::Add) / n, distances = sample.distances(r, plain);
  const Tensor guard = apply_internal(rows::kMeanGuard, DType::Bool, {plain, distances}, {within});
  const Range range(r, guard, wide);
  const Tensor shrunk = shrunk_sum(r, guard, wide, x.dtype(), plain);
  const Tensor result =
      apply_internal(rows::kMean, type, {guard, plain, range.least, range.greatest, shrunk}, {n});
  return r.without(result).to(r.to());
}

Tensor length(const Reducer& r, const Tensor& x, double order) {
  const Tensor wide = x.to(accumulator(r.to()));
  if (r.count() == 1 && order != 0) return r.without(abs(wide)).to(r.to());
  if (order != 1 && order != 0 && !std::isinf(order))
    return r.without(norm_by_powers(r, wide, order)).to(r.to());
  const Tensor size = abs(wide);
  if (std::isinf(order)) {
    r.refuse_empty();
    return r.run(size, order > 0 ? Combine::Max : Combine::Min).to(r.to());
  }
  if (order == 1) return r.run(size, Combine::Add).to(r.to());
  return r.run((size != 0).to(size.dtype()), Combine::Add).to(r.to());
}

using Numbers = std::span<const int64_t>;

Tensor lower_prod(const Tensors& in, Numbers n) { return product({"prod", in[0], n}, in[0]); }
Tensor lower_mean(const Tensors& in, Numbers n) { return average({"mean", in[0], n}, in[0]); }
Tensor lower_var(const Tensors& in, Numbers n) {
  return spread({"var", in[0], n}, in[0], as_real(n[2]), rows::kVariance);
}
Tensor lower_std(const Tensors& in, Numbers n) {
  return spread({"std", in[0], n}, in[0], as_real(n[2]), rows::kStandardDeviation);
}
Tensor lower_norm(const Tensors& in, Numbers n) {
  return length({"norm", in[0], n}, in[0], as_real(n[2]));
}

constexpr graph::CompositeOp kProd = composite<lower_prod>("prod"),
                             kMean = composite<lower_mean>("mean"),
                             kVar = composite<lower_var>("var"), kStd = composite<lower_std>("std"),
                             kNorm = composite<lower_norm>("norm");

}  // namespace

// Of one element, or none, there is nothing to decide.
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("prod", x, axes, keepdims);
  return with_gradient(
      x,
      [&] {
        return r.count() < 2 ? product(r, x)
                             : r.meant(kProd, tensor::sum_dtype(x.dtype()), r.shape());
      },
      [&](const Tensor& y) { return rules::of_prod(rules::Rows(r), x, y); });
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("mean", x, axes, keepdims);
  return with_gradient(
      x, [&] { return r.count() < 2 ? average(r, x) : r.meant(kMean, r.to(), r.shape()); },
      [&](const Tensor&) { return rules::of_mean(rules::Rows(r)); });
}

Tensor var(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  const Reducer r("var", x, axes, keepdims);
  return with_gradient(
      x,
      [&] {
        return r.count() < 2 ? spread(r, x, correction, rows::kVariance)
                             : r.meant(kVar, r.to(), r.shape(), {as_number(correction)});
      },
      [&](const Tensor&) { return rules::of_var(rules::Rows(r), x, correction); });
}

Tensor std(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  const Reducer r("std", x, axes, keepdims);
  return with_gradient(
      x,
      [&] {
        return r.count() < 2 ? spread(r, x, correction, rows::kStandardDeviation)
                             : r.meant(kStd, r.to(), r.shape(), {as_number(correction)});
      },
      [&](const Tensor& y) { return rules::of_std(rules::Rows(r), x, y, correction); });
}

Tensor norm(const Tensor& x, Order order, const Axes& axes, bool keepdims) {
  const Reducer r("norm", x, axes, keepdims);
  return with_gradient(
      x,
      [&] {
        return r.count() < 2 ? length(r, x, order)
                             : r.meant(kNorm, r.to(), r.shape(), {as_number(order)});
      },
      [&](const Tensor& y) { return rules::of_norm(rules::Rows(r), x, y, order); });
}

}  // namespace hologram::ops
