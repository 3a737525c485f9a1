// What a launch passes for the parameters of a printed kernel that are numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dialects/dialect.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::dialects {

// The workgroups of a launch that are done at a time, and how many rounds loops may go meanwhile.
struct Cut {
  uint64_t first, end, budget;
};

// 0 for parameters that are no numbers. `element_bytes`: of each buffer of the program.
inline uint64_t number_of(const Argument& argument, const hal::Launch& launch, const Cut& cut,
                          std::span<const uint32_t> element_bytes) {
  const uint32_t slot = argument.slot;
  switch (argument.kind) {
    case Argument::Kind::Length: return launch.bindings[slot].size / element_bytes[slot];
    case Argument::Kind::Scalar: return launch.scalars[slot];
    case Argument::Kind::Groups: return launch.grid[slot];
    case Argument::Kind::FirstGroup: return cut.first;
    case Argument::Kind::EndGroup: return cut.end;
    case Argument::Kind::Budget:  // as many as the parameter holds, if not all
      return size_of(argument.type) == 4 ? std::min<uint64_t>(cut.budget, UINT32_MAX) : cut.budget;
    default: return 0;
  }
}

}  // namespace hologram::dialects
