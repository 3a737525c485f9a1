// The frame of a random program: its parameters, workgroup memory and launch, and who may touch
// what, so that lanes never race.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hologram/builder.hpp"
#include "oracle/choices.hpp"

namespace hologram::oracle {

// Every buffer that is written, and every workgroup array, is divided into slots, `per_lane` for
// each lane.
struct BufferPlan {
  program::Buf buffer = {};
  DType type = DType::None;
  program::Access access = program::Access::In;
  std::vector<int64_t> shape;
  std::vector<program::Dim> dims;  // as declared; empty if it was not
  int64_t per_lane = 1;
  int64_t offset = 0;     // of the first slot; some slots may lie outside the buffer
  bool reversed = false;  // the last lane has the first slot
  // In an atomic buffer either each lane has its own slots, or all lanes touch everything with one
  // operation whose order does not matter.
  bool free_for_all = false;
  program::Combine combine = program::Combine::Add;

  int64_t length() const {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
  }
};

struct SharedPlan {
  program::Shared array = {};
  DType type = DType::None;
  bool atomic = false;
  int64_t per_lane = 1;
  int64_t count = 1;
};

struct ScalarPlan {
  std::string name;
  DType type = DType::None;
  uint64_t bits = 0;
};

struct ProgramPlan {
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  std::array<uint64_t, 3> grid = {1, 1, 1};
  DType index = DType::I32;
  bool cooperative = false;  // lanes of a group talk to each other
  bool plain = false;        // nothing that the compiler of the CPU leaves to the interpreter
  bool narrow = false;       // no values of 64 bits
  std::unique_ptr<program::Builder> builder;
  std::vector<BufferPlan> buffers;
  // One element a lane, for a mixture of its variables at the end, so that little is in vain.
  std::optional<program::Buf> digest;
  std::vector<SharedPlan> shared;
  std::vector<ScalarPlan> scalars;  // dimensions among them

  int64_t lanes() const { return int64_t{workgroup[0]} * workgroup[1] * workgroup[2]; }
  int64_t all_lanes() const { return lanes() * static_cast<int64_t>(grid[0] * grid[1] * grid[2]); }
};

// Chooses all that, and declares it in a fresh builder.
ProgramPlan make_plan(Choices& choices);

}  // namespace hologram::oracle
