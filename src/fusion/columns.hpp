// What the scheduler asks of reductions that a kernel may meet further up.
#pragma once

#include <optional>

#include "fusion/kernel.hpp"

namespace hologram::graph {

inline constexpr size_t kFarthest = 16;  // nodes that are looked at for a reduction to come

// The axes that a reduction walks.
Shape reduced_shape(const Node& reduction);

// Where short columns are reduced and what comes of that is used for their elements, a lane that
// walks a column does all of it: the axis of the columns. They are rows of the kernel then.
std::optional<size_t> axis_of_columns(const Node& root);
View with_axis_last(const View& view, size_t axis);

}  // namespace hologram::graph
