// How reductions become nodes of the graph: of rows, of columns, in pieces.
#include <algorithm>

#include "fusion/kernel.hpp"
#include "fusion/layout.hpp"
#include "tensor/access.hpp"

namespace hologram::tensor {

using graph::Kind;
using graph::Node;
using graph::View;

namespace {

// Of a reduction along the last axis and others: those that lie together with the last, if the
// others do not and a row along these is long enough to be read by neighbours.
std::span<const int> last_together(const Shape& shape, std::span<const int> axes) {
  constexpr int64_t kLeast = 32;
  size_t first = axes.size(), behind = shape.size();
  int64_t length = 1;
  while (first > 0) {
    const auto axis = static_cast<size_t>(axes[first - 1]);
    for (; behind > axis + 1; behind--)
      if (shape[behind - 1] != 1)
        return length < kLeast ? std::span<const int>() : axes.subspan(first);
    length *= shape[axis];
    behind = axis;
    first--;
  }
  return {};
}

// Whether it is all the same if what is reduced in part is stored and read again.
bool keeps_bits(program::Combine combine, DType dtype) {
  if (dtype == DType::Bool) return false;
  return combine == program::Combine::Max || combine == program::Combine::Min ||
         compute_type(dtype) == dtype;
}

// The guard of a reduction, in the axes of its node.
View guard_view(const Tensor& guard, const Shape& whole, std::span<const int> axes, bool keepdims) {
  const View from = Access::view(guard);
  View through{{}, {}, from.offset};
  for (size_t k = 0; k < whole.size(); k++) {
    const bool kept = std::find(axes.begin(), axes.end(), static_cast<int>(k)) == axes.end();
    if (!kept && !keepdims) continue;
    through.shape.push_back(kept ? whole[k] : 1);
    through.strides.push_back(from.shape[k] == 1 ? 0 : from.strides[k]);
  }
  return through;
}

Tensor reduce_guarded(const Tensor& tensor, program::Combine combine, std::span<const int> axes,
                      bool keepdims, const Tensor* guard) {
  if (axes.empty()) return tensor;
  if (Access::look(tensor).alias_of != nullptr)
    if (const Tensor original = without_alias(tensor); Access::look(original).alias_of == nullptr)
      return reduce_guarded(original, combine, axes, keepdims, guard);
  // Where neighbours are would have to be divided for at every element otherwise.
  if (const auto last = last_together(tensor.shape(), axes); !last.empty())
    return reduce_guarded(reduce_guarded(tensor, combine, last, keepdims, guard), combine,
                          axes.first(axes.size() - last.size()), keepdims,
                          keepdims ? guard : nullptr);
  const size_t rank = tensor.shape().size();
  if (keepdims && rank + axes.size() >= kMaxRank) {
    Shape shape = tensor.shape();
    for (const int axis : axes) shape[static_cast<size_t>(axis)] = 1;
    return reduce_guarded(tensor, combine, axes, false, guard).reshape(std::move(shape));
  }
  const View from = Access::view(tensor);
  View through{{}, {}, from.offset};
  const auto walk = [&through](int64_t length, int64_t stride) {
    through.shape.push_back(length);
    through.strides.push_back(stride);
  };
  int64_t length = 1, inner = 1;
  for (size_t k = 0; k < rank; k++) {
    const int64_t n = from.shape[k];
    if (std::find(axes.begin(), axes.end(), static_cast<int>(k)) == axes.end()) {
      walk(n, from.strides[k]);
      inner *= n;
    } else {
      if (keepdims) walk(1, 0);
      length *= n;
      inner = 1;
    }
  }
  Shape shape = through.shape;
  for (const int axis : axes)
    walk(from.shape[static_cast<size_t>(axis)], from.strides[static_cast<size_t>(axis)]);
  // Rows of neighbours are shared by a group, others walked by a lane each. What is too long for
  // that is reduced in pieces first. All of it follows from the shape alone, and so do the bits.
  const bool cut = length > (inner == 1 ? graph::kLongestGroupRow : graph::kLongestLaneRow);
  const int64_t piece = inner == 1 ? graph::kLongestGroupRow : graph::lane_piece(length, inner);
  const int64_t pieces = (length + piece - 1) / piece;
  // Pieces are results, and rounded as such, where they are stored.
  const bool combines_partials =
      cut && inner == 1 && keeps_bits(combine, tensor.dtype()) &&
      graph::walks_whole_rows(context_of(tensor).device(), graph::element_count(shape), pieces);
  if (cut && !combines_partials) shape.insert(shape.begin(), pieces);

  auto node = std::make_unique<Node>(Kind::Reduce, context_of(tensor), tensor.dtype(), shape);
  node->combine = combine;
  node->reduced = static_cast<uint8_t>(axes.size());
  node->chunk = cut ? piece : 0;
  node->combines_partials = combines_partials;
  node->inputs.emplace_back(Access::node(tensor), std::move(through));
  if (guard != nullptr)
    node->inputs.emplace_back(Access::node(*guard),
                              guard_view(*guard, tensor.shape(), axes, keepdims));
  Tensor result = finish(std::move(node));
  if (!cut || combines_partials) return result;
  constexpr int kPieces[] = {0};
  if (guard == nullptr) return reduce(result, combine, kPieces);
  const Tensor guard_of_pieces =
      guard->reshape({result.shape().begin() + 1, result.shape().end()}).unsqueeze(0);
  return reduce_guarded(result, combine, kPieces, false, &guard_of_pieces);
}

}  // namespace

Tensor reduce(const Tensor& tensor, program::Combine combine, std::span<const int> axes,
              bool keepdims) {
  return reduce_guarded(tensor, combine, axes, keepdims, nullptr);
}
Tensor reduce_where(const Tensor& guard, const Tensor& tensor, program::Combine combine,
                    std::span<const int> axes) {
  return reduce_guarded(tensor, combine, axes, true, &guard);
}

}  // namespace hologram::tensor
