// Functions of a workgroup: reductions, scans, the value of the first lane.
#pragma once

#include <string>

#include "dialects/spelling.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {

// The functions that the module's group instructions call.
std::string group_functions(const program::Module& module, const Spelling& language);

// group_stopped: whether the host's flag is up, the same answer for all lanes.
std::string stop_function(const Spelling& language);

// The call that stands for one such instruction.
std::string group_call(const program::Inst& inst, const std::string& value);

}  // namespace hologram::dialects
