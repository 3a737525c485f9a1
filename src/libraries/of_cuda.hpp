// Where NVIDIA's run-time libraries lie.
#pragma once

#include <span>

#include "core/dynamic_library.hpp"

namespace hologram::libraries {

// The file that a library is, of one major version of CUDA.
struct CudaRelease {
  int major;
  const char* file;
};

// What the environment variable says, or else the first of `releases` that a driver for CUDA
// `driver_major` can work with and that is there: as the system finds it, in CUDA's own folder, in
// a Python environment's.
core::DynamicLibrary open_of_cuda(const char* variable, std::span<const CudaRelease> releases,
                                  int driver_major);

}  // namespace hologram::libraries
