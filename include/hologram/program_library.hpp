// Programs that are there already: one elementwise operation each, named atlas_OPERATION_TYPE.
//
//   Executor executor;
//   auto sum = executor.run(program::library("atlas_add_f32"), {{"a", x}, {"b", z}}).at("y");
//
// Operands are the arrays a, b, c of one length n, the result is y; docs/program-library.md lists
// them. Tensors (ops.hpp) do the same with any shape, and several operations in one launch.
#pragma once

#include <span>
#include <string_view>

#include "hologram/program.hpp"

namespace hologram::program {

// The program of that name, parsed once and kept. InvalidArgument, with the nearest name, if there
// is none. Any thread may call it.
HOLOGRAM_API Program library(std::string_view name);

// Every name, operation by operation.
HOLOGRAM_API std::span<const std::string_view> library_names();

}  // namespace hologram::program
