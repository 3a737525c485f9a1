// A device that does nothing: it accepts every program, moves bytes, and computes no results. It
// measures what the runtime itself costs, and is the shortest complete example of a backend.
#pragma once

#include "hal/hal.hpp"

namespace hologram::backends::null {

hal::Backend& backend();

}  // namespace hologram::backends::null
