// Random programs, right by construction: they verify, end, and have no races, so that what they
// compute does not depend on the order of lanes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "oracle/choices.hpp"
#include "oracle/naive_interpreter.hpp"
#include "program/ir.hpp"

namespace hologram::oracle {

// A program with all that one launch of it takes.
struct RandomCase {
  program::Module module;
  std::array<uint64_t, 3> grid = {1, 1, 1};
  std::vector<std::vector<int64_t>> shapes;  // of the buffers
  std::vector<Memory> buffers;
  std::vector<uint64_t> scalars;  // bits, dimensions among them
};

RandomCase random_case(Choices& choices);

}  // namespace hologram::oracle
