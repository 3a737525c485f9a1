#include "fusion/columns.hpp"

#include <algorithm>
#include <vector>

namespace hologram::graph {

Shape reduced_shape(const Node& reduction) {
  const Shape shape = reduction.inputs[0].view().shape;
  return Shape(shape.end() - reduction.reduced, shape.end());
}

std::optional<size_t> axis_of_columns(const Node& root) {
  struct Seen {
    const Node* node;
    View way;
  };
  std::vector<Seen> above = {{&root, dense_view(root.shape)}};
  for (size_t i = 0; i < above.size() && i < kFarthest; i++) {
    const auto [at, way] = above[i];
    if (at->kind == Kind::Reduce && !at->makes_pieces()) {
      const int64_t length = element_count(reduced_shape(*at));
      if (length <= 1 || length > kLongestLaneRow) return {};
      std::optional<size_t> same;
      for (size_t k = 0; k < way.shape.size(); k++) {
        if (way.shape[k] == 1 || way.strides[k] != 0) continue;
        if (same || way.shape[k] != length) return {};
        same = k;
      }
      const bool last =
          !same || std::all_of(way.shape.begin() + static_cast<std::ptrdiff_t>(*same) + 1,
                               way.shape.end(), [](int64_t n) { return n == 1; });
      return last ? std::nullopt : same;
    }
    if (at->kind != Kind::Elementwise) continue;
    for (const Input& input : at->inputs)
      if (input.node->slot != UINT32_MAX)
        if (auto through_it = composed(input.view(), way))
          above.push_back({input.node.get(), std::move(*through_it)});
  }
  return {};
}

View with_axis_last(const View& view, size_t axis) {
  std::vector<int> axes;
  for (size_t k = 0; k < view.shape.size(); k++)
    if (k != axis) axes.push_back(static_cast<int>(k));
  axes.push_back(static_cast<int>(axis));
  return permuted(view, axes);
}

}  // namespace hologram::graph
