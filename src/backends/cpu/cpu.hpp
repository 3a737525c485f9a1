// The CPU: programs run in the block interpreter, on the caller's thread and workers'.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::cpu {

hal::Backend& backend();

}  // namespace hologram::backends::cpu
