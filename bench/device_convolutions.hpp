// Convolutions on one device, for bench_device.
#pragma once

#include "hologram/hologram.hpp"

namespace hologram::bench {

// A line for each convolution: its time where the next one follows at once, by the device's library
// and by our own program. False if one was wrong.
bool convolutions(const BackendConfig& config);

}  // namespace hologram::bench
