// The emulated driver as CUDA.
#pragma once

#include "backends/cuda/api.hpp"

#define EMULATED_FUNCTIONS(ROW) HOLOGRAM_CUDA_DRIVER(ROW) HOLOGRAM_CUDA_NEWER_DRIVER(ROW)

namespace hologram::fake {

inline constexpr char kSettings[] = "FAKE_CUDA", kName[] = "CUDA";
inline constexpr int kVersion = 12080, kFirstDevice = 7;
inline constexpr uint64_t kMostThreads = UINT64_MAX;  // of a launch

}  // namespace hologram::fake
