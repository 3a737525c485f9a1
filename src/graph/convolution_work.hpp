// A convolution of images as a node.
#pragma once

#include <memory>

#include "graph/work.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::graph {

// Of two inputs whose views have the axes image, row, column, channel; and row, column, channel,
// output. The node is image, row, column, output.
std::unique_ptr<const Work> convolution_work(const hal::ConvDesc& desc);

}  // namespace hologram::graph
