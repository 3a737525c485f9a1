// Where the run-time libraries of GPUs' vendors lie.
#pragma once

#include <span>
#include <string>

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

// Likewise, the first of `files` of ROCm that works by the HIP that is in use, whose hipInit this
// is: a process may come to have several, which know nothing of each other's memory and streams. If
// there are others alone, the library is not loaded, and `stranger` is the first of those.
core::DynamicLibrary open_of_rocm(const char* variable, std::span<const char* const> files,
                                  const void* hip, std::string& stranger);

// Why one that open_of_rocm did not load is not used, with what to do: `remedy` is of where it is
// not there ("it is ROCm's package rocblas, and "), or empty.
std::string reason_without(const core::DynamicLibrary& library, const std::string& stranger,
                           const char* remedy, const char* variable);

}  // namespace hologram::libraries
