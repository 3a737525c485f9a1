#include "fusion/joining.hpp"

#include <algorithm>

#include "fusion/columns.hpp"
#include "graph/elementwise.hpp"

namespace hologram::graph {

bool ends_with(const Shape& shape, const Shape& end) {
  return shape.size() >= end.size() && std::equal(end.rbegin(), end.rend(), shape.rbegin());
}

bool are_siblings(const Node& a, const Node& b) {
  return b.kind == Kind::Reduce && a.makes_pieces() == b.makes_pieces() && a.chunk == b.chunk &&
         a.combines_partials == b.combines_partials && a.reduced == b.reduced &&
         a.shape == b.shape && a.inputs[0].view().shape == b.inputs[0].view().shape &&
         a.inputs.size() == b.inputs.size() &&
         (!a.is_guarded() || a.inputs[1].node == b.inputs[1].node);
}

void foresee_row(Draft& draft, const Node& node, const std::vector<View>& ways) {
  std::vector<const Node*> above = {&node};
  for (size_t i = 0; i < above.size() && i < kFarthest; i++) {
    const Node& at = *above[i];
    if (at.kind == Kind::Reduce && !at.makes_pieces()) {
      const Shape row = reduced_shape(at);
      if (ends_with(draft.domain, row) && element_count(row) > 1 &&
          std::all_of(ways.begin(), ways.end(),
                      [&](const View& way) { return is_constant_along(way, row.size()); })) {
        draft.row_axes = row.size();
        if (draft.outer_count() <= element_count(node.shape)) return;
        draft.row_axes = 0;
      }
    } else if (at.kind == Kind::Elementwise) {
      for (const Input& input : at.inputs)
        if (input.node->slot != UINT32_MAX) above.push_back(input.node.get());
    }
  }
}

bool is_number(const Node& node) { return node.op == &source::kFull && node.shape.empty(); }

bool is_costly(const Node& node) {
  if (node.kind == Kind::Reduce) return true;
  switch (node.op->group) {
    case Group::Power:
    case Group::Function:
    case Group::Activation: return true;
    case Group::Internal: return node.op->draws;
    default: return false;
  }
}

namespace {

bool is_lazy(const Node& node, Kind kind) { return node.slot != UINT32_MAX && node.kind == kind; }

bool follows(const Node& node, int64_t most, int depth) {
  constexpr int kSteps = 4;
  if (node.kind != Kind::Elementwise || depth == kSteps) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Input& input) {
    const Node& before = *input.node;
    if (!is_lazy(before, Kind::Elementwise) || element_count(before.shape) > most) return false;
    return is_costly(before) || follows(before, most, depth + 1);
  });
}

int64_t bytes_of(const Node& node) {
  return element_count(node.shape) * static_cast<int64_t>(size_of(node.dtype));
}

// The memory that a kernel reads where it computes the node: that of what the node is made of, if
// it is cheap and that is less, else the node's.
int64_t bytes_read(const Node& node, int depth = 0) {
  constexpr int kDeepest = 6;
  const int64_t own = bytes_of(node);
  if (!is_lazy(node, Kind::Elementwise) || depth == kDeepest) return own;
  const bool is_cast = node.op == &source::kCast;
  if (is_costly(node) || (!is_cast && compute_type(node.dtype) != node.dtype)) return own;
  if (is_cast && is_lazy(*node.inputs[0].node, Kind::Reduce)) return own;
  int64_t bytes = 0;
  for (const Input& input : node.inputs) bytes += bytes_read(*input.node, depth + 1);
  return bytes <= own / 4 * 3 ? bytes : own;
}

}  // namespace

bool follows_what_is_costly(const Node& node) {
  return follows(node, element_count(node.shape), 0);
}

bool is_read_in_less(const Node& node) { return bytes_read(node) < bytes_of(node); }

bool covers(const Draft& draft, const Node& node, const View& way) {
  size_t axes = draft.domain.size();
  if (node.kind == Kind::Reduce || is_constant_along(way, draft.row_axes)) axes -= draft.row_axes;
  int64_t count = 1;
  for (size_t k = 0; k < axes; k++) {
    if (draft.domain[k] > 1 && way.strides[k] == 0) return false;
    count *= draft.domain[k];
  }
  return count == element_count(node.shape);
}

bool has_way_of(const Draft& draft, const Node& node) {
  return std::all_of(draft.members.begin(), draft.members.end(), [&](const Node* n) {
    return n->kind != Kind::Reduce ||
           (n->combines_partials == node.combines_partials && n->chunk == node.chunk);
  });
}

bool combines_partials_alone(const Draft& draft) {
  return draft.combines_partials && std::any_of(draft.members.begin(), draft.members.end(),
                                                [](const Node* n) { return n->makes_pieces(); });
}

bool stores_rows(const Draft& draft, const View& way) {
  const auto is_guarded = [](const Node* n) { return n->is_guarded(); };
  return draft.opaque == nullptr && draft.row_axes > 0 && draft.chunk == 0 &&
         is_constant_along(padded(way, draft.domain), draft.row_axes) && !draft.is_guarded() &&
         std::none_of(draft.members.begin(), draft.members.end(), is_guarded);
}

std::optional<View> way_beside(const Draft& draft, const Node& node) {
  constexpr int64_t kFew = 4096;
  const int64_t count = element_count(node.shape);
  if (node.kind != Kind::Elementwise || count > kFew || draft.opaque != nullptr ||
      draft.members.empty() || draft.chunk != 0 || draft.is_guarded() ||
      draft.outer_count() != count)
    return {};
  const auto axes = static_cast<std::ptrdiff_t>(draft.domain.size() - draft.row_axes);
  const Shape outer(draft.domain.begin(), draft.domain.begin() + axes);
  auto way = reshaped(dense_view(node.shape), outer);
  if (!way) return {};
  return padded(*std::move(way), draft.domain);
}

}  // namespace hologram::graph
