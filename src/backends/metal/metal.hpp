// The GPUs of Apple's platforms.
#pragma once

#include "hal/hal.hpp"

namespace hologram::backends::metal {

hal::Backend& backend();

}  // namespace hologram::backends::metal
