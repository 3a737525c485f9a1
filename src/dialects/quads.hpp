// Workgroup arrays as vectors of four, for languages whose compilers do not see by themselves that
// neighbours can be read at once, since they keep every index inside for safety.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::dialects {

struct Quads {
  // By slot of a workgroup array: every access to it is one of four to neighbours that begin at a
  // multiple of four, with nothing between them that they could meet.
  std::vector<bool> arrays;
  // By instruction: which of its four an access is; -1 of others.
  std::vector<int> place;
  // By instruction: its four accesses in the order of places; empty of others.
  std::vector<std::vector<size_t>> fours;

  Quads() = default;
  explicit Quads(const program::Module& module);
};

}  // namespace hologram::dialects
