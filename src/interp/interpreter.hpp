// Runs programs on the CPU, a block of lanes at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
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
  bool non_temporal = false;  // what it writes is more than they hold
  bool check = false;         // look for races and unset workgroup memory; on one thread
};

enum class Outcome : uint8_t { Done, TimedOut, OverBudget, Cancelled };

class Machine;

// Machines of one program that wait for its next launch, with their memory: a few, whatever the
// number of threads. Any thread may take one and bring it back.
class Machines {
 public:
  Machines() = default;
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;
  ~Machines();
  std::unique_ptr<Machine> take();  // null if none waits
  void give_back(std::unique_ptr<Machine> machine);

 private:
  std::array<std::atomic<Machine*>, 4> waiting_ = {};
};

// Returns when the work is done or was stopped. Throws InvalidProgram if `check` finds a fault.
// `kept` holds machines of this very `code`; without it they are made for this launch.
Outcome execute(const Bytecode& code, const Launch& launch, core::Threads& threads,
                Machines* kept = nullptr);

// Of an element that other threads may combine with theirs at the same time: the old value.
uint32_t combine_atomically(program::Combine how, bool is_signed, uint32_t& where, uint32_t value);

}  // namespace hologram::interp
