// How the elements of a dense result are looked at: a shape, a stride an axis and an offset, all in
// elements. Strides may be 0 (the same element again) or negative.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hologram/shape.hpp"

namespace hologram::graph {

using Strides = InlineVector<int64_t, kMaxRank>;

struct View {
  // Not a default one, for which `View()` would be filled with zeros first.
  View() noexcept {}  // NOLINT(modernize-use-equals-default)
  View(Shape shape, Strides strides, int64_t offset)
      : shape(std::move(shape)), strides(std::move(strides)), offset(offset) {}

  Shape shape;
  Strides strides;
  int64_t offset = 0;
  friend bool operator==(const View&, const View&) = default;
};

// Row-major strides. Those of axes of length 1 are what they would be for any length.
Strides dense_strides(const Shape& shape);
View dense_view(const Shape& shape);

// Whether the view is all of a dense result of this shape, in its order.
bool is_dense(const View& view);
// The same elements, where strides that lead nowhere, along axes of length 1, are 0.
View canonical(View view);

// Whether it shows the same element all along the last so many axes.
bool is_constant_along(const View& view, size_t axes);

int64_t element_count(const Shape& shape);

// The same elements in other orders. Arguments are checked by the caller.
View permuted(const View& view, std::span<const int> axes);
View expanded(const View& view, const Shape& shape);  // axes of length 1, or missing ones, repeat
// The same elements in the same order under another shape of as many; empty where strides cannot
// say it.
std::optional<View> reshaped(const View& view, const Shape& shape);

// `inner` looks at a tensor from the coordinates of a node; `outer` looks at that node's elements.
// The result looks at the tensor through both; empty where strides cannot say it.
std::optional<View> composed(const View& inner, const View& outer);

// Merges axes that all views walk as one and drops those of length 1. `shape` is that of all views.
void collapse(Shape& shape, std::span<Strides*> strides);

}  // namespace hologram::graph
