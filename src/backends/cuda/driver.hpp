// The driver of the machine.
#pragma once

#include <string>

#include "backends/cuda/api.hpp"

namespace hologram::backends::cuda {

// Opened by the first call of `instance`, and open for the life of the process.
class Driver {
 public:
  static const Driver& instance();  // from where the system or HOLOGRAM_CUDA_LIBRARY says

  const std::string& reason() const { return reason_; }  // why there is no device; empty: there is
  int version() const { return version_; }               // of CUDA that it supports: 12080 for 12.8
  const DriverFunctions* operator->() const { return &functions_; }

  // "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string text(Status status) const;
  // Whether the process is on its way out, and the driver with it: nothing is given back any more.
  static bool over();

 private:
  Driver();

  DriverFunctions functions_;
  std::string reason_;
  int version_ = 0;
};

}  // namespace hologram::backends::cuda
