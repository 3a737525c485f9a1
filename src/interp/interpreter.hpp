// Runs programs on the CPU, a block of lanes at a time.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "core/parallel.hpp"
#include "hologram/executor.hpp"
#include "interp/bytecode.hpp"

namespace hologram::interp {

struct BoundBuffer {
  std::byte* data = nullptr;
  uint64_t length = 0;  // elements
};

struct Launch {
  std::span<const BoundBuffer> buffers;
  std::span<const uint64_t> scalars;
  Grid grid = {1, 1, 1};
  std::optional<std::chrono::steady_clock::time_point> deadline;
  uint64_t budget = 0;  // most loop rounds of a block; 0: any number
  Progress* progress = nullptr;
  bool check = false;  // look for races and unset workgroup memory; on one thread
};

enum class Outcome : uint8_t { Done, TimedOut, OverBudget, Cancelled };

// Returns when the work is done or was stopped. Throws InvalidProgram if `check` finds a fault.
Outcome execute(const Bytecode& code, const Launch& launch, core::Threads& threads);

}  // namespace hologram::interp
