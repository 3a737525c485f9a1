// A tensor with a part replaced that begins where a number on the device says.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"

namespace hologram::graph {

// Inputs: x of [outer, length, inner]; a start, i32 or i64, without axes; values of
// [outer, count, inner]; all dense. The node is x with the values from that start on. A negative
// start counts from the end; where values would lie outside, nothing is written, and the next wait
// is an InvalidArgument that names `operation`.
std::unique_ptr<const OpaqueOp> put_at_op(std::string_view operation);

}  // namespace hologram::graph
