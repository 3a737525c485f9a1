// Running sums over memory, for works that need them.
#pragma once

#include "graph/node.hpp"

namespace hologram::graph {

// Combines along the middle axis of `from`, [outer, length, inner], into `to`. Pieces of 256
// elements are combined alone, their results scanned in turn, so that the order of additions
// depends on the length alone.
void scan(class Context& context, program::Combine combine, DType dtype,
          const std::array<int64_t, 3>& lengths, const Storage& from, const Storage& to);

}  // namespace hologram::graph
