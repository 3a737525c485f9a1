// Functions of a workgroup: reductions, scans, the value of the first lane.
#pragma once

#include <string>

#include "dialects/spelling.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {

// The functions that the module's group instructions call, where a thread does so many lanes.
std::string group_functions(const program::Module& module, uint32_t lanes_a_thread,
                            const Spelling& language);

// group_stopped: whether the host's flag is up, the same answer for all lanes.
std::string stop_function(const Spelling& language);

// The call that stands for one such instruction; a reduction is given the value of each lane.
std::string group_call(const program::Inst& inst, const std::string& values);

}  // namespace hologram::dialects
