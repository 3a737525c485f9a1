// Where printed programs look whether they are to stop.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::dialects {

// What a loop does for it, in each round or, for Counted, before the first.
enum class Poll : uint8_t {
  None,
  Counted,       // only says how many rounds it will go: a loop around it polls
  GroupCounted,  // the same, where that is one number for the whole workgroup
  Lane,          // each lane by itself
  Group,         // the lanes of the workgroup together, all of which go the same rounds
};

// By instruction. Conditional loops poll, and counted loops that may go on for too long: those of
// 64-bit counters and those with others inside, unless constants say that their rounds are few.
// `cooperative`: lanes wait for each other, so that none may leave by itself what all go through.
std::vector<Poll> find_polls(const program::Module& module, bool cooperative);

}  // namespace hologram::dialects
