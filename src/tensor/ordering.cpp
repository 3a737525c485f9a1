#include "hologram/ordering.hpp"

#include "algorithms/order.hpp"
#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/composite.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using core::Text;
using program::Combine;
using tensor::checked_axis;
using tensor::Tensors;
using tensor::with_gradient;

namespace rules = tensor::rules;

namespace {

Tensor running(const char* name, const Tensor& x, int axis, Combine combine) {
  if (x.rank() == 0) return running(name, x.reshape({1}), 0, combine).reshape({});
  const auto k = static_cast<size_t>(checked_axis(name, axis, x.rank()));
  const DType to = is_float(x.dtype())       ? x.dtype()
                   : x.dtype() == DType::U64 ? DType::U64
                                             : DType::I64;
  Shape box = {1, x.shape()[k], 1};
  for (size_t i = 0; i < x.shape().size(); i++)
    if (i != k) box[i < k ? 0 : 2] *= x.shape()[i];
  const Tensor wide = tensor::dense(x.to(compute_type(to))).reshape(box);
  return tensor::make_opaque(graph::scan_op(combine), wide.dtype(), box, wide)
      .reshape(x.shape())
      .to(to);
}

// The axis last and everything else in one.
Tensor as_rows(const Tensor& x, int axis) {
  const Tensor turned = tensor::dense(x.transpose(axis, -1));
  const int64_t length = turned.size(-1);
  return turned.reshape({length == 0 ? 0 : turned.size() / length, length});
}

// Rows, of another length perhaps, as that axis of x.
Tensor as_axis(const Tensor& rows, const Tensor& x, int axis) {
  Shape shape = x.transpose(axis, -1).shape();
  shape.back() = rows.size(-1);
  return rows.reshape(std::move(shape)).transpose(axis, -1);
}

// Where the first k of each row are, in their order.
Tensor lower_topk(const Tensors& in, std::span<const int64_t> numbers) {
  const Tensor& rows = in[0];
  const int64_t k = numbers[0], length = rows.size(1);
  const bool largest = numbers[1] != 0;
  const graph::FirstK how =
      graph::how_first(tensor::context_of(rows), rows.dtype(), rows.shape(), k);
  // A few of many are found first and sorted then; very few may soon be in order.
  constexpr int64_t kLongRow = 256, kShare = 8, kVeryFew = 16;
  const bool few = (length > kLongRow && k <= length / kShare) ||
                   (how == graph::FirstK::InOrder && k <= kVeryFew);
  if (!few && how != graph::FirstK::AtOnce) return argsort(rows, 1, largest).slice(1, {0, k});
  Tensor found =
      tensor::make_opaque(graph::first_op(largest), DType::I64, Shape{rows.size(0), k}, rows);
  if (how != graph::FirstK::Found) return found;
  return gather(found, argsort(gather(rows, found, 1), 1, largest), 1);
}
constexpr graph::CompositeOp kTopk = tensor::composite<lower_topk>("topk");

// Where the elements are that are true, in an array of that shape: [found, axes].
Tensor places_of(const Tensor& given, const Shape& shape) {
  const Tensor flags = tensor::dense(given.flatten());
  const int64_t n = flags.size();
  const auto axes = static_cast<int64_t>(shape.size());
  if (!graph::needs_counts(tensor::context_of(flags), shape)) {
    const auto found = sum(flags.eval()).item<int64_t>();
    return tensor::make_opaque(graph::nonzero_op(shape), DType::I64, {found, axes}, flags);
  }
  const DType count = n <= INT32_MAX ? DType::I32 : DType::I64;
  const Shape box = {1, n, 1};
  const Tensor counts =
      tensor::make_opaque(graph::scan_op(Combine::Add), count, box, flags.to(count).reshape(box))
          .reshape({n});
  const auto found = n == 0 ? 0 : counts.select(0, n - 1).to(DType::I64).item<int64_t>();
  return tensor::make_opaque(graph::nonzero_op(shape), DType::I64, {found, axes}, flags, counts);
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
  return with_gradient(
      x, [&] { return running("cumsum", x, axis, Combine::Add); },
      [&](const Tensor&) { return rules::of_cumsum(axis); });
}
Tensor cumprod(const Tensor& x, int axis) {
  return with_gradient(
      x, [&] { return running("cumprod", x, axis, Combine::Mul); },
      [&](const Tensor& y) { return rules::of_cumprod(x, y, axis); });
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  if (x.rank() == 0) return zeros({}, DType::I64, x.executor());
  const int k = checked_axis("argsort", axis, x.rank());
  const Tensor rows = as_rows(x, k);
  return as_axis(tensor::make_opaque(graph::argsort_op(descending), DType::I64, rows.shape(), rows),
                 x, k);
}

Tensor sort(const Tensor& x, int axis, bool descending) {
  if (x.rank() == 0) return x;
  const int k = checked_axis("sort", axis, x.rank());
  return with_gradient(
      x,
      [&] {
        const Tensor rows = as_rows(x, k);
        return as_axis(
            tensor::make_opaque(graph::sort_op(descending), x.dtype(), rows.shape(), rows), x, k);
      },
      [&](const Tensor&) { return rules::of_gather(x.shape(), argsort(x, k, descending), k); });
}

TopK topk(const Tensor& x, int64_t k, int axis, bool largest) {
  const int at = checked_axis("topk", axis, x.rank());
  if (k < 0 || k > x.size(at)) throw core::error(Text::TopCount, k, x.size(at));
  const Tensor rows = as_rows(x, at);
  const Tensor found =
      k == 0 ? zeros({rows.size(0), 0}, DType::I64, x.executor())
             : tensor::meant(kTopk, DType::I64, {rows.size(0), k}, {rows}, {k, largest ? 1 : 0});
  return {as_axis(gather(rows, found, 1), x, at), as_axis(found, x, at)};
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, Side side) {
  if (sorted.rank() != 1) throw core::error(Text::SortedRank, to_string(sorted.shape()));
  const DType dtype = promote(sorted.dtype(), values.dtype());
  const auto both = tensor::together("searchsorted", {sorted.to(dtype), values.to(dtype)});
  return tensor::make_opaque(graph::search_op(side == Side::Right), DType::I64, values.shape(),
                             tensor::dense(both[0]), tensor::dense(both[1]));
}

Tensor nonzero(const Tensor& x) { return places_of(x.to(DType::Bool), x.shape()); }

Unique unique(const Tensor& x) {
  const Tensor sorted = sort(x.flatten(), 0).eval();
  const int64_t n = sorted.size();
  if (n == 0) return {sorted, zeros({0}, DType::I64, x.executor())};
  const Tensor before = sorted.slice(0, {0, n - 1}), next = sorted.slice(0, {1, n});
  const Tensor differs = (before != next) & !(isnan(before) & isnan(next));
  const Tensor first = concat({ones({1}, DType::Bool, x.executor()), differs});
  const Tensor starts = places_of(first, {n}).flatten().eval();
  const Tensor ends = concat({starts.slice(0, {1, {}}), full({1}, n, DType::I64, x.executor())});
  return {take(sorted, starts, 0), ends - starts};
}

}  // namespace hologram::ops
