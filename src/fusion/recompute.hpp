// What a kernel over rows computes anew each time it walks over its row, and where that costs more
// than memory.
#pragma once

#include "fusion/kernel.hpp"

namespace hologram::graph {

// For each element, where an addition costs 1.
struct Costs {
  double pass;      // to write it and read it again
  double function;  // what is approximated: a polynomial and more
  double in_rows;   // the same on a walk over a row, where fewer elements are under way at once
  double launch;    // not for an element: of one more kernel
  double share;     // of the whole cost that may be left where something is made once for all rows
};
// Measured on one core with AVX2, of rows that caches hold. GPUs compute more for a byte, and far
// more in the time of a launch.
inline constexpr Costs kCostsOfProcessors{16, 20, 35, 1e4, 0.75},
    kCostsOfGpus{64, 20, 20, 3e7, 0.8};

// The member that had better be made by a kernel before this one, and read: with what it is made of
// it would be computed on several walks over the row. Null: everything stays.
const Node* worth_keeping(const Kernel& kernel, const Costs& costs);

}  // namespace hologram::graph
