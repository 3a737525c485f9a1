#include "hologram/rearrangement.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;
using tensor::checked_axis;

namespace {

Tensor at_least_vector(const Tensor& x) { return x.rank() == 0 ? x.reshape({1}) : x; }

// Where along an axis of length n each of the `before + n + behind` elements comes from.
Tensor sources(const Tensor& x, int64_t n, const Padding& p, PadMode mode, int64_t length) {
  Tensor at = arange(0, length, 1, DType::I64, x.executor()) - p.before;
  switch (mode) {
    case PadMode::Edge: return clamp(at, 0, n - 1);
    case PadMode::Wrap: return rem(at, n);
    case PadMode::Reflect: {
      if (n == 1) return clamp(at, 0, 0);
      const Tensor turn = rem(at, 2 * (n - 1));
      return minimum(turn, 2 * (n - 1) - turn);
    }
    case PadMode::Symmetric: {
      const Tensor turn = rem(at, 2 * n);
      return minimum(turn, 2 * n - 1 - turn);
    }
  }
  return at;
}

}  // namespace

Tensor moveaxis(const Tensor& x, std::vector<int> from, std::vector<int> to) {
  if (from.size() != to.size()) throw core::error(Text::MoveAxes, from.size(), to.size());
  const auto n = static_cast<size_t>(x.rank());
  std::vector<int> order(n, -1);
  std::vector<bool> moved(n);
  for (size_t i = 0; i < from.size(); i++) {
    const int source = checked_axis("moveaxis", from[i], x.rank());
    const auto target = static_cast<size_t>(checked_axis("moveaxis", to[i], x.rank()));
    if (moved[static_cast<size_t>(source)]) throw core::error(Text::AxisTwice, "moveaxis", from[i]);
    if (order[target] != -1) throw core::error(Text::AxisTwice, "moveaxis", to[i]);
    moved[static_cast<size_t>(source)] = true;
    order[target] = source;
  }
  size_t next = 0;
  for (int& axis : order) {
    if (axis != -1) continue;
    while (moved[next]) next++;
    axis = static_cast<int>(next++);
  }
  return x.permute(std::move(order));
}

Tensor swapaxes(const Tensor& x, int a, int b) {
  checked_axis("swapaxes", a, x.rank());
  checked_axis("swapaxes", b, x.rank());
  return x.rank() < 2 ? x : x.transpose(a, b);
}

Tensor rot90(const Tensor& x, int64_t quarters, int a, int b) {
  const int first = checked_axis("rot90", a, x.rank()), second = checked_axis("rot90", b, x.rank());
  if (first == second) throw core::error(Text::AxisTwice, "rot90", a);
  switch ((quarters % 4 + 4) % 4) {
    case 1: return x.flip({second}).transpose(first, second);
    case 2: return x.flip({first, second});
    case 3: return x.transpose(first, second).flip({second});
    default: return x;
  }
}

std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int axis) {
  const int k = checked_axis("chunk", axis, x.rank());
  const int64_t n = x.size(k);
  if (parts <= 0) throw core::error(Text::ChunkParts, parts);
  if (n == 0) return {x};
  const int64_t length = (n - 1) / parts + 1;
  std::vector<Tensor> list;
  for (int64_t start = 0; start < n; start += length)
    list.push_back(x.slice(k, {start, std::min(start + length, n)}));
  return list;
}

std::vector<Tensor> unstack(const Tensor& x, int axis) {
  const int k = checked_axis("unstack", axis, x.rank());
  std::vector<Tensor> list;
  for (int64_t i = 0; i < x.size(k); i++) list.push_back(x.select(k, i));
  return list;
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw core::error(Text::NoTensors, "hstack");
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(at_least_vector(t));
  return concat(list, list.front().rank() == 1 ? 0 : 1);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw core::error(Text::NoTensors, "vstack");
  std::vector<Tensor> list;
  for (const Tensor& t : tensors) {
    const Tensor row = at_least_vector(t);
    list.push_back(row.rank() == 1 ? row.unsqueeze(0) : row);
  }
  return concat(list, 0);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, Indexing indexing) {
  const size_t n = vectors.size();
  if (n > kMaxRank) throw core::error(Text::MeshgridCount, n);
  Shape shape;
  for (const Tensor& t : vectors) {
    if (t.rank() > 1) throw core::error(Text::MeshgridRank, to_string(t.shape()));
    shape.push_back(t.size());
  }
  const bool swapped = indexing == Indexing::XY && n > 1;
  if (swapped) std::swap(shape[0], shape[1]);
  std::vector<Tensor> list;
  for (size_t k = 0; k < n; k++) {
    Shape along(n, 1);
    along[swapped && k < 2 ? 1 - k : k] = vectors[k].size();
    list.push_back(vectors[k].reshape(std::move(along)).broadcast_to(shape));
  }
  return list;
}

Tensor pad(const Tensor& x, const std::vector<Padding>& padding, PadMode mode) {
  // What is wrong with the numbers, pad with a number says.
  const Shape shape = pad(x, padding).shape();
  Tensor result = x;
  for (size_t k = 0; k < shape.size(); k++) {
    const int64_t n = x.shape()[k];
    if (shape[k] == n) continue;
    if (n == 0) throw core::error(Text::PadEmpty, k);
    result = take(result, sources(x, n, padding[k], mode, shape[k]), static_cast<int>(k));
  }
  return result;
}

Tensor repeat(const Tensor& x, const Tensor& counts, std::optional<int> axis) {
  if (!axis) return repeat(x.flatten(), counts, 0);
  const int k = checked_axis("repeat", *axis, x.rank());
  const int64_t n = x.size(k);
  if (!is_integer(counts.dtype()))
    throw core::error(Text::OperandDType, "repeat", name_of(counts.dtype()), "integers as counts");
  if (counts.rank() > 1 || (counts.size() != n && counts.size() != 1))
    throw core::error(Text::RepeatCounts, to_string(counts.shape()), n);
  const Tensor each = counts.to(DType::I64).broadcast_to({n});
  if (n == 0) return x;
  const Tensor least = min(each), ends = cumsum(each, 0);
  eval({least, ends});
  if (const auto low = least.item<int64_t>(); low < 0)
    throw core::error(Text::NegativeTimes, "repeat", low);
  const auto length = ends.select(0, n - 1).item<int64_t>();
  const Tensor places = arange(0, length, 1, DType::I64, x.executor());
  return take(x, searchsorted(ends.to(x.executor()), places, Side::Right), k);
}

}  // namespace hologram::ops
