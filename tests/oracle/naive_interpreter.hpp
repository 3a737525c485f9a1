// Runs a program one lane at a time, for comparison with the real interpreter.
//
// Every lane is a little machine of its own that runs on to the next barrier or group operation;
// then the next lane does. The order of the lanes is a choice: a program without races does not
// notice.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "program/ir.hpp"

namespace hologram::oracle {

enum class LaneOrder : uint8_t { Forward, Reverse, Shuffled };

struct NaiveOptions {
  LaneOrder order = LaneOrder::Forward;
  uint64_t seed = 1;              // of the shuffle
  uint8_t poison = 0;             // what each byte of workgroup memory holds at first
  uint64_t budget = 200'000'000;  // instructions
};

// The program ran longer than its budget.
struct BudgetSpent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A barrier or group operation was not reached by all lanes together.
struct NotUniform : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An access that is marked as proved lies outside.
struct WrongProof : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The memory of a buffer parameter; its length is its number of bytes / element size.
using Memory = std::vector<uint8_t>;

// `scalars`: bits, one for each scalar of the module.
void run_naively(const program::Module& module, const std::array<uint64_t, 3>& grid,
                 std::span<const uint64_t> scalars, std::vector<Memory>& buffers,
                 const NaiveOptions& options = {});

}  // namespace hologram::oracle
