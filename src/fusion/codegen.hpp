// A kernel as an Atlas program.
#pragma once

#include "fusion/layout.hpp"
#include "hologram/program.hpp"

namespace hologram::graph {

// Buffers: the kernel's loads, then its outputs; scalars as scalar_arguments says.
Program generate(const Kernel& kernel, const Layout& layout);

// Nominal operations of a launch, from the cost of the program where loops do not hide it.
double operations(const Kernel& kernel, const Layout& how, const Program& program);

// "fused_exp_sub_max".
std::string name_of(const Kernel& kernel);

}  // namespace hologram::graph
