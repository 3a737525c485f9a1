// Products of matrices on one device, for bench_device.
#pragma once

#include <functional>

#include "hologram/hologram.hpp"

namespace hologram::bench {

// A line for each product that is wanted: its time where the next one follows at once, as the
// device does it, and where each is waited for. False if one was wrong.
bool products(const BackendConfig& config, const std::function<bool(const char*)>& wanted);

}  // namespace hologram::bench
