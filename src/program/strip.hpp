// Cutting a launch into strips.
#pragma once

#include "program/ir.hpp"

namespace hologram::program {

// The program for a part of the grid along one axis, and for a part of each output. Its scalars are
// the program's, then, all of the index type:
//   first     the first workgroup of the strip along `axis`
//   groups    the number of workgroups of the whole grid along it
//   and for each buffer `len_b`, its true length, and for each output `base_b`, the index of the
//   first element that the strip holds.
// One more buffer follows, u32[1]: it counts the stores that missed the strip but not the output.
// Host clauses are left out. The program must write to `out` buffers only, and may not be one that
// is already cut.
Module strip(const Module& module, int axis);

}  // namespace hologram::program
