// The GPUs of Apple's platforms.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::metal {

hal::Backend& backend();

}  // namespace hologram::backends::metal
