// Several neighbouring lanes in one thread, so that what they load and store together is one
// access.
#pragma once

#include <optional>
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
  bool words = true;          // accesses of all lanes are one where they begin at a multiple
  std::vector<bool> aligned;  // by instruction: which is known and need not be tested
};

// Lanes of a thread as they are where some numbers are multiples of how many there are, as the
// lengths and strides of most tensors are: what then begins at one may be one access anywhere, and
// bounds are the same for all lanes of a thread.
struct EvenLanes {
  Lanes lanes;
  std::vector<uint32_t> scalars;  // slots: multiples of lanes.count
  std::vector<uint32_t> buffers;  // slots: begin at a multiple of lanes.count elements
};

// Lanes of a thread where each element of a buffer has one form, as in WGSL: a buffer is made of
// words of all lanes of a thread, if no store goes elsewhere than to those of its own thread.
struct OwnLanes {
  Lanes lanes;                    // `aligned`: accesses of such words
  std::vector<bool> words;        // by buffer: it is made of them
  std::vector<uint32_t> scalars;  // slots that have to be multiples of lanes.count
};

// As many lanes as `most` allows and 16 bytes of the largest elements are, where the program lets
// them go together: one otherwise. `cooperative`: lanes talk to each other; a group that does keeps
// 32 threads.
Lanes lanes_of(const program::Module& module, bool cooperative, uint32_t most);

// None where nothing is gained: accesses of lanes that work alone, outside of loops.
std::optional<EvenLanes> even_lanes(const program::Module& module, bool cooperative,
                                    const Lanes& lanes);

// For lanes that work alone. None where nothing is gained.
std::optional<OwnLanes> own_lanes(const program::Module& module, uint32_t most);

// Where the block ends that an instruction opens, and whether another one stands directly in it.
size_t end_of_block(const program::Code& body, size_t opening);
bool stands_in(const program::Code& body, size_t opening, size_t at);

}  // namespace hologram::dialects
