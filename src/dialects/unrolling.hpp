// Which loops printed programs ask the device's compiler to write out.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::dialects {

// By instruction: loops of few rounds, known from constants, that read memory and have no other
// block inside. Written out, the loads of several rounds are under way at a time, and what they
// need is loaded while others compute.
std::vector<bool> find_unrolled(const program::Module& module);

}  // namespace hologram::dialects
