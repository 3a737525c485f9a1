// A product of matrices as a node.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"

namespace hologram::graph {

// Of two inputs whose views have the axes batch, row, column. The node has the same three.
std::unique_ptr<const OpaqueOp> product_op();

// Whether libraries can read the matrices of such a view: rows, or columns, each in one piece.
bool is_for_libraries(const View& view);

}  // namespace hologram::graph
