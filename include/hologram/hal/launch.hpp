// Programs made ready for a device, and their launches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hologram/executor.hpp"
#include "hologram/hal/buffer.hpp"

namespace hologram::hal {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// A program made ready for one device.
class Executable {
 public:
  virtual ~Executable() = default;
  // How it runs, for explain(): "compiled: AVX-512, 1,234 bytes". Empty if there is one way only.
  virtual std::string note() const { return {}; }
};

struct CompileOptions {
  bool check = false;  // look for races and reads of unset workgroup memory
  // The first launch may wait for the compiler, and tell what is wrong; its scalars are these.
  bool later = false;
  std::span<const uint64_t> scalars = {};
};

struct Launch {
  const Executable* executable = nullptr;
  Grid grid = {1, 1, 1};              // workgroups, any number: the backend linearises past limits
  std::span<const Binding> bindings;  // one a buffer parameter
  std::span<const uint64_t> scalars;  // bits, one a scalar parameter
  Deadline deadline;
  uint64_t budget = 0;           // RunOptions::budget
  Progress* progress = nullptr;  // lanes that are done are added to `done`
  uint64_t timed = 0;            // not 0: a number under which Stream::times tells how long it took
};

// How long a launch took by the clock of the device.
struct Timing {
  uint64_t number = 0;  // Launch::timed
  double seconds = 0;
};

}  // namespace hologram::hal
