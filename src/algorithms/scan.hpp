// Running sums over memory, for works that need them.
#pragma once

#include "graph/node.hpp"
#include "hologram/builder.hpp"

namespace hologram::graph {

// In programs: what a running combination of such elements begins with, and how it goes on.
program::Value scan_start(program::Builder& builder, program::Combine combine, DType dtype);
program::Value scan_next(program::Combine combine, program::Value sum, program::Value term);

// Combines along the middle axis of `from`, [outer, length, inner], into `to`, in the order of
// hal::ScanDesc.
void scan(Context& context, program::Combine combine, DType dtype,
          const std::array<int64_t, 3>& lengths, const Storage& from, const Storage& to);
// The same with a say in how: `by_tiles`, of an inner length of 1, a group of lanes reads what
// lies together at once, else each lane its own piece. The bits are the same.
void scan(Context& context, program::Combine combine, DType dtype,
          const std::array<int64_t, 3>& lengths, const Storage& from, const Storage& to,
          bool by_tiles);

}  // namespace hologram::graph
