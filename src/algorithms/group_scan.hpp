// Running sums of integers, which may be added in any order: by groups of lanes, each of which goes
// through a piece of a row.
#pragma once

#include "graph/node.hpp"
#include "hologram/op.hpp"

namespace hologram::graph {

class Context;

// Combines along the rows of `from`, [rows, length], into `to`.
void scan_by_groups(Context& context, program::Combine combine, DType dtype, int64_t rows,
                    int64_t length, const Storage& from, const Storage& to);

}  // namespace hologram::graph
