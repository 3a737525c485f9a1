#include "graph/view.hpp"

#include <algorithm>

namespace hologram::graph {

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    strides[k] = step;
    step *= shape[k];
  }
  return strides;
}

View dense_view(const Shape& shape) {
  View view;
  view.shape = shape;
  view.strides = dense_strides(shape);
  return view;
}

bool is_dense(const View& view) {
  if (view.offset != 0) return false;
  int64_t step = 1;
  for (size_t k = view.shape.size(); k-- > 0;) {
    if (view.shape[k] != 1 && view.strides[k] != step) return false;
    step *= view.shape[k];
  }
  return true;
}

View canonical(View view) {
  for (size_t k = 0; k < view.shape.size(); k++)
    if (view.shape[k] == 1) view.strides[k] = 0;
  return view;
}

bool is_constant_along(const View& view, size_t axes) {
  const size_t rank = view.shape.size();
  for (size_t k = rank - axes; k < rank; k++)
    if (view.shape[k] != 1 && view.strides[k] != 0) return false;
  return true;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  return count;
}

View permuted(const View& view, std::span<const int> axes) {
  View out{{}, {}, view.offset};
  for (const int axis : axes) {
    out.shape.push_back(view.shape[static_cast<size_t>(axis)]);
    out.strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  return out;
}

View expanded(const View& view, const Shape& shape) {
  View out;
  out.shape = shape;
  out.offset = view.offset;
  const size_t added = shape.size() - view.shape.size();
  for (size_t k = 0; k < shape.size(); k++) {
    const bool same = k >= added && view.shape[k - added] == shape[k];
    out.strides.push_back(same ? view.strides[k - added] : 0);
  }
  return out;
}

std::optional<View> reshaped(const View& view, const Shape& shape) {
  if (element_count(shape) == 0) return View{shape, dense_strides(shape), 0};
  // Both shapes in parts of equal counts; within a part the old axes must walk as one.
  View out{shape, Strides(shape.size(), 0), view.offset};
  size_t from = 0, to = 0;
  while (from < view.shape.size() || to < shape.size()) {
    const size_t first_from = from, first_to = to;
    int64_t have = from < view.shape.size() ? view.shape[from++] : 1;
    int64_t want = to < shape.size() ? shape[to++] : 1;
    while (have != want) {
      if (have < want) have *= view.shape[from++];
      else want *= shape[to++];
    }
    // The innermost of the old axes that is longer than 1 gives the step.
    int64_t step = 1, walked = 1;
    bool begun = false;
    for (size_t k = from; k-- > first_from;) {
      if (view.shape[k] == 1) continue;
      if (!begun) {
        step = view.strides[k];
        begun = true;
      } else if (view.strides[k] != step * walked) {
        return std::nullopt;
      }
      walked *= view.shape[k];
    }
    for (size_t k = to; k-- > first_to;) {
      out.strides[k] = step;
      step *= shape[k];
    }
  }
  return out;
}

void collapse(Shape& shape, std::span<Strides*> strides) {
  Shape kept;
  std::vector<Strides> kept_strides(strides.size());
  for (size_t k = 0; k < shape.size(); k++) {
    if (shape[k] == 1) continue;
    bool joins = !kept.empty();
    for (size_t v = 0; joins && v < strides.size(); v++)
      joins = kept_strides[v].back() == (*strides[v])[k] * shape[k];
    if (joins) kept.back() *= shape[k];
    else kept.push_back(shape[k]);
    for (size_t v = 0; v < strides.size(); v++) {
      if (joins) kept_strides[v].back() = (*strides[v])[k];
      else kept_strides[v].push_back((*strides[v])[k]);
    }
  }
  shape = std::move(kept);
  for (size_t v = 0; v < strides.size(); v++) *strides[v] = std::move(kept_strides[v]);
}

namespace {

// Whether the axes that are not empty walk to elements that `count` elements do not have.
bool reaches_outside(const View& view, int64_t count) {
  int64_t least = view.offset, most = view.offset;
  for (size_t k = 0; k < view.shape.size(); k++) {
    if (view.shape[k] <= 1) continue;
    const int64_t far = view.strides[k] * (view.shape[k] - 1);
    (far < 0 ? least : most) += far;
  }
  return least < 0 || most >= count;
}

}  // namespace

std::optional<View> composed(const View& inner, const View& outer) {
  if (outer.shape == inner.shape && is_dense(outer)) return inner;
  const View nothing{outer.shape, Strides(outer.shape.size(), 0), 0};
  if (element_count(inner.shape) == 0) return nothing;

  Shape shape = inner.shape;
  Strides through = inner.strides;
  Strides* both[] = {&through};
  collapse(shape, both);
  const Strides flat = dense_strides(shape);
  const size_t rank = shape.size();

  // An element number is taken apart into coordinates, and a stride into a step an axis. As long as
  // no coordinate leaves its axis, the parts add up to the whole.
  View out{outer.shape, Strides(outer.shape.size(), 0), inner.offset};
  Shape low(rank), high(rank);
  int64_t rest = outer.offset;
  for (size_t j = 0; j < rank; j++) {
    low[j] = high[j] = rest / flat[j];
    out.offset += low[j] * through[j];
    rest %= flat[j];
  }
  for (size_t k = 0; k < outer.shape.size(); k++) {
    if (outer.shape[k] <= 1) continue;
    rest = outer.strides[k];
    for (size_t j = 0; j < rank; j++) {
      const int64_t step = rest / flat[j];
      rest %= flat[j];
      out.strides[k] += step * through[j];
      (step < 0 ? low : high)[j] += step * (outer.shape[k] - 1);
    }
  }
  bool leaves = false;
  for (size_t j = 0; j < rank; j++) leaves = leaves || low[j] < 0 || high[j] >= shape[j];
  if (!leaves) return out;
  // Axes of length 0 are no reason to forget the others: what is the same along an empty row is
  // read once a row, or stored beside its sum. Beyond the end lies nothing that would be read.
  if (element_count(outer.shape) == 0 && reaches_outside(outer, element_count(inner.shape)))
    return nothing;
  return std::nullopt;
}

}  // namespace hologram::graph
