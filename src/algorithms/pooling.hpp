// The largest element of each window of an image, for devices whose lanes go at a time: one
// program, in which windows that reach beyond an edge read elements of theirs twice rather than
// less.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::graph {

// Images are dense, [outer, rows, columns, inner]: a batch and channels, or both as the outer axis
// and 1. Each window has an element inside of its image.
struct Windows {
  hal::ConvAxis rows, columns;
  int64_t outer = 1, inner = 1;
};

std::unique_ptr<const OpaqueOp> max_pooling_op(const Windows& windows);

}  // namespace hologram::graph
