// Several indexed axes are one axis with one index, counted row by row.
#include "hologram/indexing.hpp"

#include <numeric>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;

namespace {

Tensor whole_numbers(const Tensor& index) {
  if (!is_integer(index.dtype()))
    throw core::error(Text::OperandDType, "index", name_of(index.dtype()), "integers or bool");
  // What i64 cannot hold lies outside of every axis, as does the largest number that it can.
  return (index.dtype() == DType::U64 ? minimum(index, INT64_MAX) : index).to(DType::I64);
}

// Where a mask is true: an index for each of its axes.
void add_places(const Tensor& x, const Tensor& mask, size_t axis, std::vector<Tensor>& indices) {
  bool fits = mask.rank() > 0 && axis + mask.shape().size() <= x.shape().size();
  for (size_t k = 0; fits && k < mask.shape().size(); k++)
    fits = mask.shape()[k] == x.shape()[axis + k];
  if (!fits)
    throw core::error(Text::MaskShape, to_string(mask.shape()), to_string(x.shape()), axis);
  const Tensor places = nonzero(mask.to(x.executor()));
  for (int64_t k = 0; k < mask.rank(); k++) indices.push_back(places.select(1, k));
}

// The indexed axes, all of them side by side in `arranged`, as one: [outer, length, inner].
struct Choice {
  std::vector<int> axes;
  Shape shape;      // of the indices
  Tensor arranged;  // x with the indexed axes side by side, from `first` on
  size_t first = 0;
  bool moved = false;  // to the front, as they were not
  Tensor linear;       // in the one axis
  Shape box;
  Shape result;  // of what is chosen

  Choice(const Tensor& x, const Indices& entries) {
    std::vector<Tensor> indices;
    size_t axis = 0;
    for (const std::optional<Tensor>& entry : entries) {
      const size_t before = indices.size();
      if (entry && entry->dtype() == DType::Bool) add_places(x, *entry, axis, indices);
      else if (entry) indices.push_back(whole_numbers(*entry));
      for (size_t i = before; i < indices.size(); i++) axes.push_back(static_cast<int>(axis++));
      if (!entry) axis++;
    }
    if (axis > x.shape().size()) throw core::error(Text::IndexCount, axis, to_string(x.shape()));
    arranged = x;
    if (axes.empty()) return;
    for (const Tensor& i : indices) shape = tensor::broadcast_shape("index", shape, i.shape());
    arrange(x);
    linearise(x, indices);
  }

  std::vector<int> front() const {
    std::vector<int> list(axes.size());
    std::iota(list.begin(), list.end(), 0);
    return list;
  }

  void arrange(const Tensor& x) {
    moved = axes.back() - axes.front() + 1 != static_cast<int>(axes.size());
    first = moved ? 0 : static_cast<size_t>(axes.front());
    if (moved) arranged = moveaxis(x, axes, front());
    const Shape& all = arranged.shape();
    box = {1, 1, 1};
    for (size_t k = 0; k < all.size(); k++)
      box[k < first ? 0 : k < first + axes.size() ? 1 : 2] *= all[k];
    const auto begin = all.begin() + static_cast<int64_t>(first);
    result = Shape(all.begin(), begin);
    result.insert(result.end(), shape.begin(), shape.end());
    result.insert(result.end(), begin + static_cast<int64_t>(axes.size()), all.end());
  }

  void linearise(const Tensor& x, const std::vector<Tensor>& indices) {
    if (indices.size() == 1) {
      linear = indices[0].to(x.executor()).flatten();
      return;
    }
    Tensor outside;
    for (size_t i = 0; i < indices.size(); i++) {
      const int64_t n = x.size(axes[i]);
      const Tensor index = indices[i].to(x.executor());
      const Tensor at = where(index < 0, index + n, index);
      const Tensor wrong = (at < 0) | (at >= n);
      outside = i == 0 ? wrong : outside | wrong;
      linear = i == 0 ? at : linear * n + at;
    }
    linear = where(outside, INT64_MAX, linear).broadcast_to(shape).flatten();
  }
};

}  // namespace

Tensor index(const Tensor& x, const Indices& indices) {
  const Choice c(x, indices);
  if (c.axes.empty()) return x;
  return take(c.arranged.reshape(c.box), c.linear, 1).reshape(c.result);
}

Tensor index_put(const Tensor& x, const Indices& indices, const Operand& values, bool accumulate) {
  const Choice c(x, indices);
  const auto number = [&] { return full({}, values, x.dtype(), x.executor()); };
  const Tensor given = values.is_number() ? number() : tensor::cast_to(values.tensor(), x.dtype());
  if (c.axes.empty()) {
    const Tensor all = given.broadcast_to(x.shape());
    return accumulate ? x + all : all;
  }
  const Shape part = {c.box[0], c.linear.size(), c.box[2]};
  const Tensor where_to = c.linear.reshape({1, part[1], 1}).broadcast_to(part);
  const Tensor what = given.broadcast_to(c.result).reshape(part);
  const Tensor made =
      (accumulate ? scatter_add : scatter)(c.arranged.reshape(c.box), where_to, what, 1)
          .reshape(c.arranged.shape());
  return c.moved ? moveaxis(made, c.front(), c.axes) : made;
}

}  // namespace hologram::ops
