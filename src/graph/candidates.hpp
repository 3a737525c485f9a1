// Who computes a node that is no fused kernel: those who might, in the order in which they are
// asked. The first who does not refuse does it; last comes a program, which never does.
#pragma once

#include <string>
#include <vector>

#include "hologram/hal/library.hpp"

namespace hologram::graph {

using Candidates = std::vector<hal::Candidate>;

// Of work that is done in one way only.
Candidates only(std::string name);

// "by oneDNN sgemm"; of a program, behind a colon, why nobody before it does.
std::string doer(const Candidates& candidates);

// A line for each, numbered, with the reason of those who refuse and a mark at the one who does it.
std::string in_lines(const Candidates& candidates);

}  // namespace hologram::graph
