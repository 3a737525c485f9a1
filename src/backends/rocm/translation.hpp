// What HIP has in another form than CUDA, in that of DriverFunctions.
#pragma once

#include <string>

#include "backends/rocm/api.hpp"

namespace hologram::backends::rocm {

// Fills the members of `table` that have no row in HOLOGRAM_HIP_DRIVER by means of `functions`, of
// HIP `major`; of what it fills there is one in a process.
//
// HIP has a current device a thread and no contexts: the context of device n is the number n + 1,
// and to leave it makes the device current again that was before.
void translate(const HipFunctions& functions, int major, driver::DriverFunctions& table);

// "gfx90a:sramecc+:xnack-"; empty if HIP does not tell.
std::string architecture_of(const HipFunctions& functions, int device);

}  // namespace hologram::backends::rocm
