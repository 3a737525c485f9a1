// AMD's GPUs, by HIP and hipRTC of the machine.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::rocm {

hal::Backend& backend();

}  // namespace hologram::backends::rocm
