// Nodes whose elements are found by numbers that are data: gather and scatter.
#pragma once

#include <array>
#include <memory>

#include "graph/opaque_op.hpp"

namespace hologram::graph {

// Inputs: x of [outer, length, inner], dense; positions, i32 or i64, viewed as [outer, count,
// inner]. The node is [outer, count, inner]: x at those positions. Negative ones count from the
// end; one outside makes an InvalidArgument that names `operation`.
std::unique_ptr<const OpaqueOp> gather_op(std::string_view operation);

// The same with a third input, dense [outer, count, inner]: the node is x with those values put, or
// added, at the positions, in order: the last of several at one place stays.
std::unique_ptr<const OpaqueOp> scatter_op(std::string_view operation, bool add);

// A scatter whose values are sorted by where they go, so that many lanes have something to do; with
// the same bits. Of the memory of values, positions, a word that is 1 afterwards if one of those is
// outside, and the result, which holds x.
void scatter_sorted(Context& context, const hal::IndexDesc& desc,
                    const std::array<hal::Binding, 4>& memory);

}  // namespace hologram::graph
