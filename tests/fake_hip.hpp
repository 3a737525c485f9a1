// How a test steers the emulated HIP: as the emulated CUDA driver, whose files it is made of, with
// the names of HIP's functions. Settings are FAKE_HIP_*, as those of CUDA in fake_cuda.cpp; in
// place of the capability FAKE_HIP_WAVE says how many lanes a wave has, 32 unless set, and
// FAKE_HIP_ARCHITECTURE what the devices are, gfx1100 or, with waves of 64, gfx90a unless set.
#pragma once

#include "fake_cuda.hpp"

namespace hologram {

using FakeHip = FakeCuda;

}  // namespace hologram
