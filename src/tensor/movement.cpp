#include "hologram/movement.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/index.hpp"
#include "algorithms/part.hpp"
#include "core/messages.hpp"
#include "graph/elementwise.hpp"
#include "hologram/ops.hpp"
#include "tensor/parts.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using core::Text;
using graph::View;
using tensor::Access;
using tensor::checked_axis;
using tensor::Part;
using tensor::with_gradient;

namespace rules = tensor::rules;

namespace {

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t k = begin; k < end; k++) n *= shape[k];
  return n;
}

// The sum of two lengths of an axis; ShapeMismatch beyond every axis.
int64_t longer(int64_t length, int64_t by) {
  int64_t sum = 0;
  if (__builtin_add_overflow(length, by, &sum)) sum = INT64_MAX;
  return count_of({sum});
}

// A part of a dense result: from `start` along one axis, of this shape.
View part_of(const Shape& whole, const Shape& part, size_t axis, int64_t start) {
  View view{part, graph::dense_strides(whole), 0};
  view.offset = part[axis] == 0 ? 0 : start * view.strides[axis];
  return view;
}

Tensor integers(std::string_view operation, const Tensor& indices) {
  if (!is_integer(indices.dtype()))
    throw core::error(Text::OperandDType, operation, name_of(indices.dtype()),
                      "integers as indices");
  // What i64 cannot hold lies outside of every axis, as does the largest number that it can.
  if (indices.dtype() == DType::U64) return minimum(indices, INT64_MAX).to(DType::I64);
  const bool wide = size_of(indices.dtype()) == 8 || indices.dtype() == DType::U32;
  return indices.to(wide ? DType::I64 : DType::I32);
}

// [outer, length, inner] around an axis.
Shape around(const Shape& shape, size_t axis) {
  return {product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.size())};
}

Tensor number_or_tensor(const Operand& operand, const Tensor& like) {
  return operand.is_number()
             ? tensor::full_like_number(operand, like.dtype(), tensor::context_of(like))
             : operand.tensor();
}

bool is_constant(const Tensor& x) {
  const graph::Node& node = Access::look(x);
  return node.op == &graph::source::kFull &&
         node.state.load(std::memory_order_acquire) == graph::NodeState::Lazy;
}

// One position along the axis in each row of a constant: the value there, and the constant
// elsewhere, which fuses with what is around it. The positions are looked up, which finds those
// outside.
Tensor scattered_once(const char* name, const Tensor& constant, const Tensor& where,
                      const Tensor& values, size_t axis) {
  const int64_t length = constant.shape()[axis], count = where.size();
  const auto places = [&] { return arange(0, length, 1, where.dtype(), constant.executor()); };
  const Shape column = {1, count, 1};
  const Tensor at = tensor::make_opaque(graph::gather_op(name), where.dtype(), column,
                                        places().reshape({1, length, 1}), where.reshape(column))
                        .reshape(where.shape());
  Shape along(constant.shape().size(), 1);
  along[axis] = length;
  return ops::where(places().reshape(std::move(along)) == at, values, constant);
}

Tensor scattered(const char* name, const Tensor& x, const Tensor& indices, const Operand& values,
                 int axis, bool add) {
  const auto k = static_cast<size_t>(checked_axis(name, axis, x.rank()));
  const Tensor where = integers(name, indices);
  Shape expected = x.shape();
  if (where.rank() == x.rank()) expected[k] = where.size(static_cast<int>(k));
  if (where.rank() != x.rank() || where.shape() != expected)
    throw core::error(Text::PositionShape, name, to_string(indices.shape()), to_string(x.shape()),
                      k);
  const Tensor given = number_or_tensor(values, x).to(x.dtype()).broadcast_to(where.shape());
  if (add && x.dtype() == DType::Bool)
    throw core::error(Text::OperandDType, name, name_of(x.dtype()), "integers and floats");
  const auto all = tensor::together(name, {tensor::dense(x), where, tensor::dense(given)});
  const auto make = [&] {
    if (!add && expected[k] == 1 && is_constant(all[0]))
      return scattered_once(name, all[0], all[1], all[2], k);
    return tensor::make_opaque(graph::scatter_op(name, add), x.dtype(), around(x.shape(), k),
                               all[0].reshape(around(x.shape(), k)),
                               all[1].reshape(around(where.shape(), k)),
                               all[2].reshape(around(where.shape(), k)))
        .reshape(x.shape());
  };
  if (!tensor::is_recording()) return make();
  return with_gradient({all[0], all[2]}, make, [&](const Tensor&) {
    return [at = all[1], shape = x.shape(), axis = static_cast<int>(k), add](
               const Tensor& g, const tensor::Wanted& wanted) {
      tensor::Tensors back(2);
      if (wanted[0]) back[0] = add ? g : scatter(g, at, 0, axis);
      if (wanted[1]) back[1] = add ? gather(g, at, axis) : rules::of_scattered(at, shape, axis)(g);
      return back;
    };
  });
}

// An axis so many times as long: each element as often, or all of them in turn. They are repeated
// along an axis of their own, for which a tensor of the highest rank has no room.
Tensor multiplied(const Tensor& x, size_t axis, int64_t times, bool each) {
  Shape wide = x.shape(), shape = x.shape();
  shape[axis] = count_of({shape[axis], times});
  if (shape.size() == kMaxRank)
    return multiplied(x.reshape(around(x.shape(), axis)), 1, times, each).reshape(std::move(shape));
  const size_t added = each ? axis + 1 : axis;
  wide.insert(wide.begin() + static_cast<int64_t>(added), times);
  return x.unsqueeze(static_cast<int>(added))
      .broadcast_to(std::move(wide))
      .reshape(std::move(shape));
}

}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw core::error(Text::NoTensors, "concat");
  const auto k = static_cast<size_t>(checked_axis("concat", axis, tensors.front().rank()));
  DType dtype = tensors.front().dtype();
  Shape shape = tensors.front().shape();
  shape[k] = 0;
  for (const Tensor& t : tensors) {
    dtype = promote(dtype, t.dtype());
    Shape other = t.shape();
    if (other.size() == shape.size()) other[k] = shape[k];
    if (other != shape)
      throw core::error(Text::ConcatShapes, to_string(tensors.front().shape()),
                        to_string(t.shape()), k);
    shape[k] = longer(shape[k], t.shape()[k]);
  }
  std::vector<Part> parts;
  int64_t start = 0;
  for (const Tensor& t : tensor::together("concat", tensors)) {
    parts.push_back({t, part_of(shape, t.shape(), k, start)});
    start += t.shape()[k];
  }
  const auto make = [&] {
    return tensor::assemble(dtype, shape, parts, tensor::context_of(parts.front().tensor));
  };
  if (!tensor::is_recording()) return make();
  tensor::Tensors operands;
  std::vector<int64_t> lengths;
  for (const Part& part : parts) {
    operands.push_back(part.tensor);
    lengths.push_back(part.tensor.shape()[k]);
  }
  return with_gradient(operands, make, [&](const Tensor&) {
    return [lengths, axis = static_cast<int>(k)](const Tensor& g, const tensor::Wanted&) {
      return split(g, lengths, axis);
    };
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw core::error(Text::NoTensors, "stack");
  const int k = checked_axis("stack", axis, tensors.front().rank() + 1);
  std::vector<Tensor> list;
  for (const Tensor& t : tensors) {
    if (t.shape() != tensors.front().shape())
      throw core::error(Text::ConcatShapes, to_string(tensors.front().shape()),
                        to_string(t.shape()), k);
    list.push_back(t.unsqueeze(k));
  }
  return concat(list, k);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& lengths, int axis) {
  const int k = checked_axis("split", axis, x.rank());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const int64_t n : lengths) {
    if (n < 0 || n > x.size(k) - start) throw core::error(Text::SplitLengths, x.size(k), k);
    parts.push_back(x.slice(k, {start, start + n}));
    start += n;
  }
  if (start != x.size(k)) throw core::error(Text::SplitLengths, x.size(k), k);
  return parts;
}

std::vector<Tensor> split(const Tensor& x, int64_t parts, int axis) {
  const int k = checked_axis("split", axis, x.rank());
  constexpr int64_t kMostEmpty = int64_t{1} << 20;
  if (parts <= 0 || parts > std::max(x.size(k), kMostEmpty))
    throw core::error(Text::SplitLengths, x.size(k), k);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < parts; i++)
    lengths.push_back(x.size(k) / parts + (i < x.size(k) % parts ? 1 : 0));
  return split(x, lengths, k);
}

Tensor pad(const Tensor& x, const std::vector<Padding>& padding, const Operand& value) {
  if (padding.size() != x.shape().size())
    throw core::error(Text::TooManyParts, padding.size(), to_string(x.shape()));
  Shape shape = x.shape();
  std::vector<Slice> inside;
  for (size_t k = 0; k < shape.size(); k++) {
    if (padding[k].before < 0 || padding[k].after < 0) throw core::error(Text::NegativePadding, k);
    const int64_t end = longer(padding[k].before, shape[k]);
    inside.push_back({padding[k].before, end});
    shape[k] = longer(end, padding[k].after);
  }
  return put(full(shape, value, x.dtype(), x.executor()), inside, x);
}

Tensor put(const Tensor& x, const std::vector<Slice>& part, const Operand& values) {
  // Where the part lies: the same view of a dense result.
  const View to = Access::view(zeros_like(x).slice(part));
  const Tensor given = number_or_tensor(values, x).to(x.dtype()).broadcast_to(to.shape);
  const auto both = tensor::together("put", {x, given});
  const auto make = [&] {
    return tensor::assemble(x.dtype(), x.shape(),
                            {{both[0], graph::dense_view(x.shape())}, {both[1], to}},
                            tensor::context_of(both[0]));
  };
  if (!tensor::is_recording()) return make();
  return with_gradient({both[0], both[1]}, make, [&](const Tensor&) {
    return [part](const Tensor& g, const tensor::Wanted&) {
      return tensor::Tensors{put(g, part, 0), g.slice(part)};
    };
  });
}

namespace {

// The start as a tensor i32 or i64 beside x.
Tensor start_of(std::string_view operation, const Operand& start, const Tensor& x) {
  if (start.is_number()) {
    if (!is_integer(start.kind()))
      throw core::error(Text::StartInteger, operation, name_of(start.kind()));
    return tensor::full_like_number(start, DType::I64, tensor::context_of(x));
  }
  const Tensor& t = start.tensor();
  if (t.size() != 1 || t.rank() != 0 || !is_integer(t.dtype()))
    throw core::error(Text::StartInteger, operation,
                      std::string(name_of(t.dtype())) + to_string(t.shape()));
  return integers(operation, t);
}

void require_part(std::string_view operation, const Tensor& x, size_t axis, int64_t length) {
  if (length < 0 || length > x.shape()[axis])
    throw core::error(Text::PartLength, operation, length, axis, x.shape()[axis]);
}

}  // namespace

Tensor slice_at(const Tensor& x, int axis, const Operand& start, int64_t length) {
  const int k = checked_axis("slice_at", axis, x.rank());
  require_part("slice_at", x, static_cast<size_t>(k), length);
  const Tensor first = start_of("slice_at", start, x).to(DType::I64);
  // Counted from the beginning before anything is added: -1 is followed by none.
  const Tensor from = where(first < 0, first + x.size(k), first);
  const Tensor inside = where(from < 0, x.size(k), from);
  return take(x, inside + arange(0, length, 1, DType::I64, first.executor()), k);
}

Tensor put_at(const Tensor& x, int axis, const Operand& start, const Tensor& values) {
  const auto k = static_cast<size_t>(checked_axis("put_at", axis, x.rank()));
  Shape part = x.shape();
  if (values.rank() == x.rank()) part[k] = values.shape()[k];
  else part[k] = 1;
  require_part("put_at", x, k, part[k]);
  const Tensor given = values.to(x.dtype()).broadcast_to(part);
  const auto all = tensor::together(
      "put_at",
      {tensor::dense(x), tensor::dense(start_of("put_at", start, x)), tensor::dense(given)});
  const auto make = [&] {
    return tensor::make_opaque(graph::put_at_op("put_at"), x.dtype(), around(x.shape(), k),
                               all[0].reshape(around(x.shape(), k)), all[1],
                               all[2].reshape(around(part, k)))
        .reshape(x.shape());
  };
  if (!tensor::is_recording()) return make();
  return with_gradient({all[0], all[2]}, make, [&](const Tensor&) {
    return [at = all[1], part, axis = static_cast<int>(k)](const Tensor& g,
                                                           const tensor::Wanted& wanted) {
      tensor::Tensors back(2);
      if (wanted[0]) back[0] = put_at(g, axis, at, zeros(part, g.dtype(), g.executor()));
      if (wanted[1]) back[1] = slice_at(g, axis, at, part[static_cast<size_t>(axis)]);
      return back;
    };
  });
}

Tensor take(const Tensor& x, const Tensor& indices, std::optional<int> axis) {
  if (!axis) return take(x.flatten(), indices, 0);
  const auto k = static_cast<size_t>(checked_axis("take", *axis, x.rank()));
  Shape shape(x.shape().begin(), x.shape().begin() + static_cast<int64_t>(k));
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + static_cast<int64_t>(k) + 1, x.shape().end());
  const auto both = tensor::together("take", {tensor::dense_part(x), integers("take", indices)});
  const Shape box = around(x.shape(), k);
  const Shape result = {box[0], indices.size(), box[2]};
  const Tensor where = tensor::dense(both[1]).reshape({1, indices.size(), 1}).broadcast_to(result);
  return with_gradient(
      both[0],
      [&] {
        return tensor::make_opaque(graph::gather_op("take"), x.dtype(), result,
                                   both[0].reshape(box), where)
            .reshape(std::move(shape));
      },
      [&](const Tensor&) { return rules::of_take(x.shape(), both[1], static_cast<int>(k)); });
}

Tensor gather(const Tensor& x, const Tensor& indices, int axis) {
  const auto k = static_cast<size_t>(checked_axis("gather", axis, x.rank()));
  Shape shape = x.shape();
  if (indices.rank() == x.rank()) shape[k] = indices.size(static_cast<int>(k));
  bool fits = indices.rank() == x.rank();
  for (size_t i = 0; fits && i < shape.size(); i++)
    fits = indices.shape()[i] == shape[i] || indices.shape()[i] == 1;
  if (!fits)
    throw core::error(Text::PositionShape, "gather", to_string(indices.shape()),
                      to_string(x.shape()), k);
  const auto both =
      tensor::together("gather", {tensor::dense_part(x), integers("gather", indices)});
  const Tensor where = tensor::dense(both[1].broadcast_to(shape)).reshape(around(shape, k));
  return with_gradient(
      both[0],
      [&] {
        return tensor::make_opaque(graph::gather_op("gather"), x.dtype(), around(shape, k),
                                   both[0].reshape(around(x.shape(), k)), where)
            .reshape(shape);
      },
      [&](const Tensor&) { return rules::of_gather(x.shape(), both[1], static_cast<int>(k)); });
}

Tensor scatter(const Tensor& x, const Tensor& indices, const Operand& values, int axis) {
  return scattered("scatter", x, indices, values, axis, false);
}
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Operand& values, int axis) {
  return scattered("scatter_add", x, indices, values, axis, true);
}

Tensor roll(const Tensor& x, int64_t shift, std::optional<int> axis) {
  if (!axis) return roll(x.flatten(), shift, 0).reshape(x.shape());
  const int k = checked_axis("roll", *axis, x.rank());
  const int64_t n = x.size(k);
  if (n == 0) return x;
  const int64_t by = (shift % n + n) % n;
  if (by == 0) return x;
  return concat({x.slice(k, {n - by, {}}), x.slice(k, {{}, n - by})}, k);
}

Tensor repeat(const Tensor& x, int64_t times, std::optional<int> axis) {
  if (times < 0) throw core::error(Text::NegativeTimes, "repeat", times);
  if (!axis) return repeat(x.flatten(), times, 0);
  const int k = checked_axis("repeat", *axis, x.rank());
  return multiplied(x, static_cast<size_t>(k), times, true);
}

Tensor tile(const Tensor& x, const std::vector<int64_t>& times) {
  for (const int64_t n : times)
    if (n < 0) throw core::error(Text::NegativeTimes, "tile", n);
  Tensor result = x;
  while (result.shape().size() < times.size()) result = result.unsqueeze(0);
  // One axis after the other keeps the rank low.
  for (size_t i = 0; i < times.size(); i++) {
    const int k = result.rank() - static_cast<int>(times.size() - i);
    if (times[i] == 1) continue;
    result = multiplied(result, static_cast<size_t>(k), times[i], false);
  }
  return result;
}

Tensor contiguous(const Tensor& x) { return tensor::dense(x); }

Tensor copy(const Tensor& x) {
  auto node = std::make_unique<graph::Node>(graph::Kind::Elementwise, tensor::context_of(x),
                                            x.dtype(), x.shape());
  node->op = &graph::source::kCopy;
  node->inputs.push_back(tensor::input_of(x));
  Tensor made = tensor::finish(std::move(node));
  if (tensor::is_recording()) tensor::record_same(x, made);
  return made;
}

}  // namespace hologram::ops
