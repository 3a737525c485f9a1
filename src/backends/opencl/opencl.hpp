// Every device that an OpenCL driver offers: GPUs of all makers, and the processor itself by PoCL.
#pragma once

#include "hologram/hal/backend.hpp"

namespace hologram::backends::opencl {

hal::Backend& backend();

}  // namespace hologram::backends::opencl
