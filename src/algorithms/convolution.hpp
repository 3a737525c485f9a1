// A convolution of images as a node.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::graph {

// Of two inputs whose views have the axes image, row, column, channel; and row, column, channel,
// output. The node is image, row, column, output.
std::unique_ptr<const OpaqueOp> convolution_op(const hal::ConvDesc& desc);

}  // namespace hologram::graph
