// A device that does nothing: it accepts every program, moves bytes, and computes no results. It
// measures what the runtime itself costs, and is the shortest complete example of a backend.
#pragma once

#include <memory>

#include "hologram/hal/backend.hpp"

namespace hologram::backends::null {

hal::Backend& backend();

// Another, of this type: a test registers it from outside the tree.
std::unique_ptr<hal::Backend> make(BackendType type);

}  // namespace hologram::backends::null
