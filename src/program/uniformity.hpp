// What is the same in all lanes of a workgroup, by WGSL's kind of static rule.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::program {

struct Uniformity {
  std::vector<bool> values;     // by id: the same in every lane that computes it
  std::vector<bool> variables;  // by slot: the same in every lane that reads it
  std::vector<bool> flow;       // by instruction of the body: all lanes come by, or none
};

// The module's body must be right in all else that the verifier checks.
Uniformity find_uniformity(const Module& module);

}  // namespace hologram::program
