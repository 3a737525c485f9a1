// Several neighbouring lanes in one thread, so that what they load and store together is one
// access.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::dialects {

// How a value of neighbouring lanes hangs together.
enum class Form : uint8_t {
  Uniform,      // the same in all of them
  Consecutive,  // an integer that is one more in the next lane
  Known,        // differs, but follows from the numbers of lane and group alone
  Varying,
};

struct Lanes {
  uint32_t count = 1;           // lanes of a thread
  std::vector<Form> values;     // by id
  std::vector<bool> variables;  // by slot: whether it differs between the lanes
  // By instruction: an If that most threads enter with all lanes or none. `guards`: before anything
  // is stored, so that lanes may also go one by one from the start.
  std::vector<bool> guards, mostly_all;
};

// As many lanes as `most` allows and 16 bytes of the largest elements are, where the program lets
// them go together: one otherwise. `cooperative`: lanes talk to each other; a group that does keeps
// 32 threads.
Lanes lanes_of(const program::Module& module, bool cooperative, uint32_t most);

}  // namespace hologram::dialects
