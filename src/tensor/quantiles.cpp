// Elements of a sorted axis, and what lies between two of them.
#include <cmath>
#include <limits>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using core::Text;
using tensor::cast_to;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// An axis in order; the whole tensor is one if none is named.
struct Sorted {
  Tensor values;
  int axis;
  int64_t length;
  DType to;     // of results
  Shape shape;  // of results

  Sorted(const char* name, const Tensor& x, std::optional<int> wanted, bool keepdims)
      : axis(wanted ? tensor::checked_axis(name, *wanted, x.rank()) : 0),
        to(tensor::float_dtype(x.dtype())) {
    const Tensor line = wanted ? x : x.flatten();
    length = line.size(axis);
    if (length == 0) throw core::error(Text::EmptyReduction, name, to_string(x.shape()));
    values = sort(line, axis);
    shape = x.shape();
    for (size_t k = 0; k < shape.size(); k++)
      if (!wanted || static_cast<int>(k) == axis) shape[k] = 1;
    if (keepdims) return;
    if (wanted) shape.erase(shape.begin() + axis);
    else shape.clear();
  }
  // In what results are computed. What is sorted may be integers, which are exact until then.
  Tensor wide(const Tensor& x) const { return cast_to(x, tensor::accumulator(to)); }
  Tensor at(int64_t i) const { return wide(values.select(axis, i)); }
  Tensor finish(const Tensor& x) const { return cast_to(x, to).reshape(shape); }
};

// (a + b) / 2, of numbers whose sum is infinite too.
Tensor middle(const Tensor& a, const Tensor& b) {
  const Tensor sum = a + b;
  return where(isinf(sum), a * 0.5 + b * 0.5, sum * 0.5);
}

// From a, of a share t of the way to b.
Tensor between(const Tensor& a, const Tensor& b, double t) {
  if (t == 0) return a;
  if (t == 1) return b;
  const Tensor way = b - a;
  const Tensor point = t < 0.5 ? a + way * t : b - way * (1 - t);
  const Tensor far = isinf(way) & isfinite(a) & isfinite(b);
  return where(a == b, a, where(far, a * (1 - t) + b * t, point));
}

Tensor quantile_of(const Sorted& s, double q, Interpolation interpolation) {
  const double place = q * static_cast<double>(s.length - 1), low = std::floor(place);
  const auto i = static_cast<int64_t>(low);
  const int64_t next = std::min(i + 1, s.length - 1);
  const double t = place - low;
  const auto point = [&] {
    switch (interpolation) {
      case Interpolation::Linear: return between(s.at(i), s.at(next), t);
      case Interpolation::Lower: return s.at(i);
      case Interpolation::Higher: return s.at(t > 0 ? next : i);
      case Interpolation::Midpoint: return t > 0 ? middle(s.at(i), s.at(next)) : s.at(i);
      case Interpolation::Nearest: break;
    }
    // Of two that are as near, the even one.
    return s.at(t > 0.5 || (t == 0.5 && i % 2 != 0) ? next : i);
  };
  return s.finish(where(isnan(s.at(s.length - 1)), kNan, point()));
}

Tensor quantiles(const char* name, const Tensor& x, const std::vector<double>& shares,
                 std::optional<int> axis, bool keepdims, Interpolation interpolation,
                 double whole) {
  for (const double q : shares)
    if (!(q >= 0 && q <= whole)) throw core::error(Text::QuantileShare, name, q, whole);
  const Sorted sorted(name, x, axis, keepdims);
  std::vector<Tensor> results;
  results.reserve(shares.size());
  for (const double q : shares) results.push_back(quantile_of(sorted, q / whole, interpolation));
  if (!results.empty()) return stack(results);
  Shape shape = sorted.shape;
  shape.insert(shape.begin(), 0);
  return zeros(std::move(shape), sorted.to, x.executor());
}

}  // namespace

Tensor quantile(const Tensor& x, double q, std::optional<int> axis, bool keepdims,
                Interpolation interpolation) {
  return quantiles("quantile", x, {q}, axis, keepdims, interpolation, 1).select(0, 0);
}
Tensor quantile(const Tensor& x, const std::vector<double>& q, std::optional<int> axis,
                bool keepdims, Interpolation interpolation) {
  return quantiles("quantile", x, q, axis, keepdims, interpolation, 1);
}
Tensor percentile(const Tensor& x, double p, std::optional<int> axis, bool keepdims,
                  Interpolation interpolation) {
  return quantiles("percentile", x, {p}, axis, keepdims, interpolation, 100).select(0, 0);
}
Tensor percentile(const Tensor& x, const std::vector<double>& p, std::optional<int> axis,
                  bool keepdims, Interpolation interpolation) {
  return quantiles("percentile", x, p, axis, keepdims, interpolation, 100);
}

Tensor median(const Tensor& x, std::optional<int> axis, bool keepdims) {
  const Sorted s("median", x, axis, keepdims);
  const Tensor both = middle(s.at((s.length - 1) / 2), s.at(s.length / 2));
  return s.finish(where(isnan(s.at(s.length - 1)), kNan, both));
}

// NaN stands behind all other elements, whose number differs from row to row.
Tensor nanmedian(const Tensor& x, std::optional<int> axis, bool keepdims) {
  const Sorted s("nanmedian", x, axis, keepdims);
  const Tensor count = sum(!isnan(s.values), s.axis, true);
  const auto at = [&](const Tensor& place) { return s.wide(gather(s.values, place, s.axis)); };
  return s.finish(middle(at(maximum(count - 1, 0) >> 1), at(count >> 1)));
}

}  // namespace hologram::ops
