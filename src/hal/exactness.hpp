// What a device computes, against what the host does: a driver may promise more than it keeps.
#pragma once

#include "hologram/hal/device.hpp"

namespace hologram::hal {

// Whether + * / sqrt fma round correctly, nothing is contracted and denormals are kept, in f32 and,
// where the device computes with it, f64. Compiles and runs a program of each type; throws what
// goes wrong with them.
bool computes_exactly(Device& device);

}  // namespace hologram::hal
