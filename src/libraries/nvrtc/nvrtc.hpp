// The compiler of CUDA C++ that the machine has. It needs no device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libraries/nvrtc/api.hpp"

namespace hologram::libraries::nvrtc {

// What is compiled for: "sm_90" gives machine code, "compute_90" the text of a virtual machine that
// the driver compiles when it is loaded.
using Architecture = std::string;

// Thread-safe. Opened by the first call of `instance`, and open for the life of the process.
class Nvrtc final : public RuntimeCompiler {
 public:
  // From where HOLOGRAM_NVRTC_LIBRARY says, or the newest that a driver for CUDA `driver_major` can
  // take code of: as the system finds it, in CUDA's own folder, in a Python environment's. Only the
  // first call's driver counts.
  static const Nvrtc& instance(int driver_major);

  // What to compile for on devices of compute capability 9.0, given as 90. A refusal names the
  // oldest that this compiler knows.
  hal::Expected<Architecture> architecture(int capability) const;

  hal::Expected<std::vector<std::byte>> compile(
      const std::string& text, const Architecture& architecture,
      const std::vector<std::string>& flags) const override;

 private:
  explicit Nvrtc(int driver_major);

  Functions functions_;
  std::vector<int> known_;  // capabilities, ascending
};

}  // namespace hologram::libraries::nvrtc
