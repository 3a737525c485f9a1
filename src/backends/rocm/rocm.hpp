// AMD's GPUs, by HIP and hipRTC of the machine.
#pragma once

#include "hal/hal.hpp"

namespace hologram::backends::rocm {

hal::Backend& backend();

}  // namespace hologram::backends::rocm
