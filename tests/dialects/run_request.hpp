// One launch of a printed program in a test.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dialects/dialect.hpp"

namespace hologram::dialects {

struct RunRequest {
  const Printed* printed = nullptr;
  std::array<uint64_t, 3> grid = {1, 1, 1};
  std::vector<uint64_t> scalars;  // bits
  std::vector<uint64_t> lengths;  // elements, by buffer
  uint64_t blocks = 0;            // of threads; 0: as many as have something to do
  uint64_t offset = 0;            // of each buffer in its memory, elements
  uint64_t budget = 0;
  bool stop = false;  // what the host's flag says
};

inline uint64_t groups_of(const RunRequest& r) { return r.grid[0] * r.grid[1] * r.grid[2]; }

inline uint64_t blocks_of(const RunRequest& r) {
  const uint64_t needed = (groups_of(r) + r.printed->groups - 1) / r.printed->groups;
  const uint64_t blocks = r.blocks != 0 ? r.blocks : needed;
  return blocks == 0 ? 1 : blocks;
}

// The bits of an argument that is no pointer.
inline uint64_t bits_of(const Argument& a, const RunRequest& r) {
  switch (a.kind) {
    case Argument::Kind::Length: return r.lengths[a.slot];
    case Argument::Kind::Scalar: return r.scalars[a.slot];
    case Argument::Kind::Groups: return r.grid[a.slot];
    case Argument::Kind::EndGroup: return groups_of(r);
    case Argument::Kind::Budget: return r.budget;
    default: return 0;
  }
}

}  // namespace hologram::dialects
