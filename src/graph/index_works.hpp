// Nodes whose elements are found by numbers that are data: gather and scatter.
#pragma once

#include <memory>

#include "graph/work.hpp"

namespace hologram::graph {

// Inputs: x of [outer, length, inner], dense; positions, i32 or i64, viewed as [outer, count,
// inner]. The node is [outer, count, inner]: x at those positions. Negative ones count from the
// end; one outside makes an InvalidArgument that names `operation`.
std::unique_ptr<const Work> gather_work(std::string_view operation);

// The same with a third input, dense [outer, count, inner]: the node is x with those values put, or
// added, at the positions, in order: the last of several at one place stays.
std::unique_ptr<const Work> scatter_work(std::string_view operation, bool add);

}  // namespace hologram::graph
