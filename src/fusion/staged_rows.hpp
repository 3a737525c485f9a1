// What waits in the memory of a kernel's results until they are known.
#pragma once

#include <map>
#include <vector>

#include "fusion/layout.hpp"

namespace hologram::graph {

// That of the reductions that need most others before them; 0 if there are none.
uint8_t last_level(const Kernel& kernel);

// Whether all reductions of this level are guarded, so that their walk may be left out.
bool is_guarded(const Kernel& kernel, uint8_t level);

// Whether a result of a row is one for all of its elements.
bool same_along_row(const Layout& layout, const Output& output);

// By term: whether reductions need it. What they do not need is read where the results are made.
std::vector<bool> reduced_terms(const Kernel& kernel);

// Functions of a row's elements that the last reductions compute and the results need again, as
// exp in a softmax: they wait in the memory of the result, whose bits they keep, where nothing
// else is read that could lie there. By output: the term.
std::map<size_t, uint32_t> kept_terms(const Kernel& kernel, const Layout& layout);

}  // namespace hologram::graph
