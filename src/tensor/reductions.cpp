#include "hologram/reductions.hpp"

#include <algorithm>

#include "fusion/kernel.hpp"
#include "hologram/creation.hpp"
#include "hologram/ops.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using program::Combine;
using tensor::accumulator;
using tensor::Reducer;
using tensor::Tensors;
using tensor::with_gradient;

namespace rules = tensor::rules;

namespace {

Tensor extreme(const char* name, const Tensor& x, const Axes& axes, bool keepdims,
               Combine combine) {
  const Reducer r(name, x, axes, keepdims);
  r.refuse_empty();
  return with_gradient(
      x, [&] { return r.run(x, combine); },
      [&](const Tensor& y) { return rules::of_extreme(rules::Rows(r), x, y); });
}

Tensor position(const char* name, const Tensor& whole, std::optional<int> axis, bool keepdims,
                Combine combine) {
  const Tensor x = axis ? whole : whole.flatten();
  const Reducer r(name, x, axis.value_or(0), keepdims && axis);
  r.refuse_empty();
  const int64_t n = r.count();
  Shape along(x.shape().size(), 1);
  along[static_cast<size_t>(r.axes[0])] = n;
  const Tensor at = arange(0, n, 1, DType::I64, x.executor()).reshape(along);
  const Tensor best = r.kept(x, combine);
  const Tensor result = r.run(where((x == best) | isnan(x), at, n), Combine::Min);
  return keepdims && !axis ? result.reshape(Shape(whole.shape().size(), 1)) : result;
}

// The largest element of each row, or 0 where that is infinite, so that differences make sense.
Tensor finite_max(const Reducer& r, const Tensor& x) {
  const Tensor largest = r.kept(x, Combine::Max);
  return where(isfinite(largest), largest, 0);
}

// Rows that are longer than a group of lanes keeps are read once instead of twice: each piece has a
// largest element and a sum of its own, which is scaled to the largest of all.
Tensor logsumexp_of_pieces(const Reducer& r, int64_t pieces) {
  constexpr int64_t kWhole = 256;  // elements that pieces are multiples of, but the last
  const int axis = r.axes[0];
  const int64_t length = r.count();
  const int64_t piece = (length / pieces + kWhole) / kWhole * kWhole;
  std::vector<Tensor> largest, sums;
  for (int64_t begin = 0; begin < length; begin += piece) {
    const Tensor x =
        r.x.slice(axis, {begin, std::min(begin + piece, length)}).to(accumulator(r.to()));
    largest.push_back(tensor::reduce(x, Combine::Max, r.axes, true));
    const Tensor middle = where(isfinite(largest.back()), largest.back(), 0);
    sums.push_back(tensor::reduce(exp(x - middle), Combine::Add, r.axes, true));
  }
  Tensor all = largest[0];
  for (size_t i = 1; i < largest.size(); i++) all = maximum(all, largest[i]);
  all = where(isfinite(all), all, 0);
  Tensor sum = sums[0] * exp(largest[0] - all);
  for (size_t i = 1; i < sums.size(); i++) sum = sum + sums[i] * exp(largest[i] - all);
  return r.without(log(sum) + all).to(r.to());
}

Tensor lower_logsumexp(const Tensors& in, std::span<const int64_t> n) {
  const Reducer r("logsumexp", in[0], n);
  constexpr int64_t kMostPieces = 8;  // each is a kernel
  const int64_t pieces = (r.count() - 1) / graph::kLongestGroupRow + 1;
  if (r.axes.size() == 1 && r.axes[0] == r.x.rank() - 1 && pieces > 1 && pieces <= kMostPieces)
    return logsumexp_of_pieces(r, pieces);
  const Tensor wide = r.x.to(accumulator(r.to())), largest = finite_max(r, wide);
  return r.without(log(r.kept(exp(wide - largest), Combine::Add)) + largest).to(r.to());
}

Tensor lower_softmax(const Tensors& in, std::span<const int64_t> n) {
  const Reducer r("softmax", in[0], n);
  const tensor::Converted converted(r.x, accumulator(r.to()));
  const Tensor& wide = *converted;
  const Tensor share = exp(wide - r.kept(wide, Combine::Max));
  return tensor::cast_to(share * reciprocal(r.run(share, Combine::Add)), r.to());
}

Tensor lower_log_softmax(const Tensors& in, std::span<const int64_t> n) {
  const Reducer r("log_softmax", in[0], n);
  const Tensor wide = r.x.to(accumulator(r.to())), distance = wide - r.kept(wide, Combine::Max);
  return (distance - log(r.run(exp(distance), Combine::Add))).to(r.to());
}

constexpr graph::CompositeOp kLogsumexp = tensor::composite<lower_logsumexp>("logsumexp"),
                             kSoftmax = tensor::composite<lower_softmax>("softmax"),
                             kLogSoftmax = tensor::composite<lower_log_softmax>("log_softmax");

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  const DType to = tensor::sum_dtype(x.dtype());
  const Reducer r("sum", x, axes, keepdims);
  return with_gradient(
      x,
      [&] {
        const tensor::Converted wide(x, accumulator(to));
        return tensor::cast_to(r.run(*wide, Combine::Add), to);
      },
      [&](const Tensor&) { return rules::of_sum(rules::Rows(r)); });
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("min", x, axes, keepdims, Combine::Min);
}
Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("max", x, axes, keepdims, Combine::Max);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return position("argmin", x, axis, keepdims, Combine::Min);
}
Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return position("argmax", x, axis, keepdims, Combine::Max);
}
Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reducer("any", x, axes, keepdims).run(x.to(DType::Bool), Combine::Max);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reducer("all", x, axes, keepdims).run(x.to(DType::Bool), Combine::Min);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("logsumexp", x, axes, keepdims);
  return with_gradient(
      x, [&] { return r.meant(kLogsumexp, r.to(), r.shape()); },
      [&](const Tensor& y) { return rules::of_logsumexp(rules::Rows(r), x, y); });
}

Tensor softmax(const Tensor& x, int axis) {
  const Reducer r("softmax", x, axis, true);
  return with_gradient(
      x, [&] { return r.meant(kSoftmax, r.to(), x.shape()); },
      [&](const Tensor& y) { return rules::of_softmax(rules::Rows(r), y); });
}

Tensor log_softmax(const Tensor& x, int axis) {
  const Reducer r("log_softmax", x, axis, true);
  return with_gradient(
      x, [&] { return r.meant(kLogSoftmax, r.to(), x.shape()); },
      [&](const Tensor& y) { return rules::of_log_softmax(rules::Rows(r), y); });
}

}  // namespace hologram::ops
