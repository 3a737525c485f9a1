// A product of matrices as a node.
#pragma once

#include <memory>

#include "graph/work.hpp"

namespace hologram::graph {

// Of two inputs whose views have the axes batch, row, column. The node has the same three.
std::unique_ptr<const Work> product_work();

}  // namespace hologram::graph
