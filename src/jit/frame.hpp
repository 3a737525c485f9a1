// What compiled code is called with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interp/interpreter.hpp"
#include "program/ir.hpp"

namespace hologram::jit {

inline constexpr uint32_t kFuel = 4096;  // rounds of loops between looks at the clock
inline constexpr uint32_t kRows = 15;    // of lanes in memory; the last two are the target's own
inline constexpr uint32_t kRowBytes = program::kMaxLanes * 8;

// Lanes (or, if the program is grouped, workgroups) x_begin … x_end - 1 of rows row_begin …
// row_end - 1 of the grid; row r is at r % rows_y, r / rows_y.
struct Frame {
  const interp::BoundBuffer* buffers;
  const uint64_t* scalars;
  uint64_t grid[3];  // workgroups
  int64_t x_begin, x_end;
  int64_t row_begin, row_end;
  int64_t rows_y;
  int64_t y, z;     // of the first row
  uint64_t cached;  // 0: whole vectors that are stored need not stay in the caches; or 1
  uint64_t fuel;
  uint64_t (*more_fuel)(Frame*);  // how much; 0: stop
  void* watch;
  std::byte* rows;  // kRows, for a target that does not keep them on its own stack
};

// 0: done; 1: stopped for want of fuel.
using Function = uint32_t (*)(Frame*);

}  // namespace hologram::jit
