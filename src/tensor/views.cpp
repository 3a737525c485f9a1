// Views: other ways to look at the same elements.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/messages.hpp"
#include "tensor/access.hpp"

namespace hologram {

using core::Text;
using graph::View;
using tensor::Access;
using tensor::checked_axis;

namespace {

Tensor look(const Tensor& t, View view) { return Access::make(Access::node(t), std::move(view)); }

// The length that -1 stands for.
Shape completed(const Tensor& t, Shape shape) {
  Shape rest;
  int64_t* open = nullptr;
  for (int64_t& n : shape) {
    if (n == -1 && open == nullptr) open = &n;
    else if (n < 0) throw core::error(Text::Reshape, to_string(t.shape()), to_string(shape));
    else rest.push_back(n);
  }
  const int64_t known = count_of(rest), count = t.size();
  if (open != nullptr && known > 0 && count % known == 0) *open = count / known;
  else if (open != nullptr || known != count)
    throw core::error(Text::Reshape, to_string(t.shape()), to_string(shape));
  count_of(shape);
  return shape;
}

}  // namespace

Tensor Tensor::reshape(Shape shape) const {
  shape = completed(*this, std::move(shape));
  if (auto view = graph::reshaped(Access::view(*this), shape)) return look(*this, std::move(*view));
  return look(tensor::dense(*this), graph::dense_view(shape));
}

Tensor Tensor::flatten(int first, int last) const {
  if (rank() == 0) return reshape({1});
  const auto a = static_cast<size_t>(checked_axis("flatten", first, rank()));
  const auto b = static_cast<size_t>(checked_axis("flatten", last, rank()));
  if (a > b) throw core::error(Text::AxisOrder, "flatten", first, last);
  const Shape& old = shape();
  Shape shape(old.begin(), old.begin() + static_cast<int64_t>(a));
  shape.push_back(std::accumulate(old.begin() + static_cast<int64_t>(a),
                                  old.begin() + static_cast<int64_t>(b) + 1, int64_t{1},
                                  std::multiplies<>()));
  shape.insert(shape.end(), old.begin() + static_cast<int64_t>(b) + 1, old.end());
  return reshape(std::move(shape));
}

Tensor Tensor::permute(std::vector<int> axes) const {
  if (axes.size() != shape().size())
    throw core::error(Text::PermuteAxes, fmt::format("{}", fmt::join(axes, ", ")), rank());
  for (int& axis : axes) axis = checked_axis("permute", axis, rank());
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw core::error(Text::PermuteAxes, fmt::format("{}", fmt::join(axes, ", ")), rank());
  return look(*this, graph::permuted(Access::view(*this), axes));
}

Tensor Tensor::transpose(int a, int b) const {
  if (rank() < 2 && a == -2 && b == -1) return *this;
  std::vector<int> axes(shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(checked_axis("transpose", a, rank()))],
            axes[static_cast<size_t>(checked_axis("transpose", b, rank()))]);
  return permute(std::move(axes));
}

Tensor Tensor::slice(std::vector<Slice> parts) const {
  if (parts.size() > shape().size())
    throw core::error(Text::TooManyParts, parts.size(), to_string(shape()));
  View view = Access::view(*this);
  for (size_t k = 0; k < parts.size(); k++) {
    const Slice& part = parts[k];
    const int64_t n = view.shape[k], step = part.step;
    if (step == 0) throw core::error(Text::SliceStep, k);
    // Python's rule: ends beyond the axis are moved to its ends.
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
      if (!given) return otherwise;
      return std::clamp(*given < 0 ? *given + n : *given, low, high);
    };
    const int64_t begin = bound(part.begin, step > 0 ? low : high);
    const int64_t end = bound(part.end, step > 0 ? high : low);
    // The distance is at most the axis; the step may be any number.
    const int64_t distance = step > 0 ? end - begin : begin - end;
    const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
    const uint64_t steps = distance > 0 ? static_cast<uint64_t>(distance - 1) / by : 0;
    view.shape[k] = distance > 0 ? static_cast<int64_t>(steps) + 1 : 0;
    if (distance > 0) view.offset += begin * view.strides[k];
    if (steps > 0) view.strides[k] *= step;
  }
  if (graph::element_count(view.shape) == 0) view.offset = 0;
  return look(*this, std::move(view));
}

Tensor Tensor::slice(int axis, Slice part) const {
  std::vector<Slice> parts(static_cast<size_t>(checked_axis("slice", axis, rank())) + 1);
  parts.back() = part;
  return slice(std::move(parts));
}

Tensor Tensor::select(int axis, int64_t index) const {
  const auto k = static_cast<size_t>(checked_axis("select", axis, rank()));
  View view = Access::view(*this);
  const int64_t n = view.shape[k], at = index < 0 ? index + n : index;
  if (at < 0 || at >= n) throw core::error(Text::IndexRange, index, k, n);
  view.offset += at * view.strides[k];
  view.shape.erase(view.shape.begin() + static_cast<int64_t>(k));
  view.strides.erase(view.strides.begin() + static_cast<int64_t>(k));
  return look(*this, std::move(view));
}

Tensor Tensor::squeeze() const {
  const View view = Access::view(*this);
  View out{{}, {}, view.offset};
  for (size_t k = 0; k < view.shape.size(); k++) {
    if (view.shape[k] == 1) continue;
    out.shape.push_back(view.shape[k]);
    out.strides.push_back(view.strides[k]);
  }
  return look(*this, std::move(out));
}

Tensor Tensor::squeeze(int axis) const {
  const auto k = static_cast<size_t>(checked_axis("squeeze", axis, rank()));
  if (shape()[k] != 1) throw core::error(Text::SqueezeAxis, k, to_string(shape()));
  return select(static_cast<int>(k), 0);
}

Tensor Tensor::unsqueeze(int axis) const {
  const auto k = checked_axis("unsqueeze", axis, rank() + 1);
  View view = Access::view(*this);
  view.shape.insert(view.shape.begin() + k, 1);
  view.strides.insert(view.strides.begin() + k, 0);
  count_of(view.shape);
  return look(*this, std::move(view));
}

Tensor Tensor::broadcast_to(Shape wanted) const {
  const Shape& have = shape();
  count_of(wanted);
  bool fits = have.size() <= wanted.size();
  const size_t added = fits ? wanted.size() - have.size() : 0;
  for (size_t k = 0; fits && k < have.size(); k++)
    fits = have[k] == 1 || have[k] == wanted[added + k];
  if (!fits) throw core::error(Text::BroadcastTo, to_string(have), to_string(wanted));
  View view = graph::expanded(Access::view(*this), wanted);
  return look(*this, std::move(view));
}

Tensor Tensor::flip(std::vector<int> axes) const {
  View view = Access::view(*this);
  for (const int axis : tensor::checked_axes("flip", axes, rank())) {
    const auto k = static_cast<size_t>(axis);
    if (view.shape[k] > 0) view.offset += (view.shape[k] - 1) * view.strides[k];
    view.strides[k] = -view.strides[k];
  }
  if (size() == 0) view.offset = 0;
  return look(*this, std::move(view));
}

namespace tensor {

int checked_axis(std::string_view operation, int axis, int rank) {
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) throw core::error(Text::AxisRange, operation, axis, rank);
  return at;
}

AxisList checked_axes(std::string_view operation, std::span<const int> wanted, int rank) {
  AxisList axes(wanted.begin(), wanted.end());
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  for (int& axis : axes) axis = checked_axis(operation, axis, rank);
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    throw core::error(Text::AxisTwice, operation, *twice);
  return axes;
}

}  // namespace tensor
}  // namespace hologram
