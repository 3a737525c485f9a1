// Lanes that go ways of their own, side by side: what a lane leaves by break, continue, return, or
// by a number of rounds of its own is told by variables that say who is still there.
#pragma once

#include <set>

#include "program/ir.hpp"

namespace hologram::jit {

// In `aux`. Of a Var: it is false for lanes that do not take part. Of a Set: in all lanes, as those
// that do not take part are false already, or do not look at it any more. Of an If: its condition
// is false for them.
inline constexpr uint8_t kOfThisBlock = 1;

// Whether lanes leave a block, or a loop has no count.
bool has_exits(const program::Module& module);

// The same program without Break, Continue and Return. A Loop, and a For that lanes leave, have the
// variable of those who are still there in `slot`: a round is for them alone, and there is none
// when nobody is. Which For is such a Loop instead, as its bounds differ between lanes, is told by
// ids.
program::Module predicated(const program::Module& module, const std::set<uint32_t>& by_lane);

}  // namespace hologram::jit
