// The statements of one lane.
#pragma once

#include <string>

#include "dialects/lanes.hpp"
#include "dialects/spelling.hpp"
#include "dialects/uses.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {

// What stands between the braces of the function of a lane, which is given buffers, lengths,
// scalars, workgroup arrays, and the numbers of its group (group_x, …) and itself (lane).
// With lanes.count > 1 it is those from `lane` on together. `one` is the call that does lane + k
// alone, for where not all of them go the same way.
std::string print_body(const program::Module& module, const Uses& uses, const Lanes& lanes,
                       const std::string& one, const Spelling& language, const Options& options);

}  // namespace hologram::dialects
