// From named arguments to what a launch needs: every buffer and scalar, checked.
#pragma once

#include <vector>

#include "hologram/executor.hpp"
#include "program/ir.hpp"

namespace hologram::runtime {

struct BoundProgram {
  std::vector<Array> arrays;      // one a buffer; empty where `missing`
  std::vector<Shape> shapes;      // one a buffer
  std::vector<bool> missing;      // not given: to be allocated
  std::vector<uint64_t> scalars;  // bits, one a scalar
  std::vector<uint64_t> lengths;  // elements, one a buffer
  std::array<uint64_t, 3> lanes;  // wanted along each axis; 0: not said
  Grid grid;
};

// Throws what docs/atlas.md names for arguments that do not suit the program.
BoundProgram bind(const program::Program& program, const std::vector<Argument>& arguments,
                  const RunOptions& options);

// InvalidArgument if memory that is written is also another argument's.
void refuse_overlaps(const program::Program& program, const std::vector<Array>& arrays);

}  // namespace hologram::runtime
