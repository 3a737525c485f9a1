// NVIDIA's GPUs, through the driver and the run-time compiler that the machine has. Both are opened
// when first needed; nothing of CUDA is needed to build.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::cuda {

hal::Backend& backend();

}  // namespace hologram::backends::cuda
