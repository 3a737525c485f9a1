// The devices that a WebGPU library finds, on whatever it is made of.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::webgpu {

hal::Backend& backend();

}  // namespace hologram::backends::webgpu
