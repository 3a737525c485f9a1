// Sums of rows, or of their products with a vector or with other rows, on the processor: bit for
// bit what the program of a kernel makes of them whose groups of lanes share a row
// (fusion/codegen.cpp).
#pragma once

#include <span>

#include "libraries/host_plan.hpp"

namespace hologram::libraries::packed {

// y[r] of so many rows, each `step` elements behind the one before: its elements, or their products
// with those of x, which are `step_x` further for the next row, added up.
using Rows = void(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                  int64_t length, float* y);

// For the best vector instructions of this processor, by so many lanes.
struct RowKernels {
  bool (*chosen)();  // for this processor, unless some before are
  struct Reach {
    Rows *near, *far;
    int64_t from;        // elements of a matrix from which on it lies far off
    int64_t beside = 1;  // rows that are read side by side then
  };
  struct Lanes {
    Reach sums, products, by_vector;  // by_vector: the same x for all rows, `step_x` is 0
  };
  Lanes few, many;
};
inline constexpr int64_t kFewLanes = 128, kManyLanes = 256;
inline constexpr int64_t kRun = 16;  // elements that a lane adds up in one go

// All that run on this processor, with the same bits, and those that are the fastest: none, and
// null, where there are none for it.
std::span<const RowKernels> all_row_kernels();
const RowKernels* row_kernels();

// Why sums of rows are not for these kernels.
std::optional<hal::Refusal> refuses(const hal::RowReduceDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::RowReduceDesc& desc);  // one that is not refused

}  // namespace hologram::libraries::packed
