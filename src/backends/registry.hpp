// The backends of this build.
#pragma once

#include <span>

#include "hal/hal.hpp"

namespace hologram::backends {

struct Entry {
  BackendType type;
  hal::Backend* backend;  // null: not part of this build
  const char* absence;    // why
  bool automatic;         // may be chosen without being named
};

// In the order of automatic choice.
std::span<const Entry> all();

}  // namespace hologram::backends
