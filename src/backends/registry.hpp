// The backends of this build, and those that were registered from outside.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hologram/hal/backend.hpp"

namespace hologram::backends {

struct Entry {
  BackendType type;
  hal::Backend* backend;  // null: not part of this build
  const char* absence;    // why
  bool automatic;         // may be chosen without being named
};

// In the order of automatic choice; those that were registered come last, in that order.
std::vector<Entry> all();

// Of a backend from outside the tree (hologram/backend.hpp): its name, which stays where it is.
// Empty if the type is none of such a backend.
std::string_view registered_name(BackendType type);
std::optional<BackendType> registered_type(std::string_view name);

}  // namespace hologram::backends
