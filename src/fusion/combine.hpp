// How a reduction takes in one more value.
#pragma once

#include "hologram/builder.hpp"

namespace hologram::graph {

// What changes nothing where it is combined: 0, 1, an infinity or the type's extreme.
program::Value identity(program::Builder& b, program::Combine combine, DType type);
program::Value combined(program::Combine combine, program::Value a, program::Value b);

}  // namespace hologram::graph
