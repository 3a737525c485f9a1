// Products of long sums whose result is small, as those of a tall matrix with itself, on the
// processor; with the bits of packed.hpp. Nothing is copied: blocks of terms are added up where
// they lie, several at a time, and then the blocks.
#pragma once

#include "libraries/accumulation.hpp"
#include "libraries/host_plan.hpp"

namespace hologram::libraries::packed {

template <class T>
struct SkinnyKernel {
  int64_t lanes;  // twice as many columns at most
  // Of whole blocks, and of one that is shorter: sums[block][row][column] of `terms` terms of
  // a[row * a_row + term * a_term] and b[term * ldb + column]. Rows of sums have whole vectors.
  void (*run)(const T* a, int64_t a_row, int64_t a_term, const T* b, int64_t ldb, int64_t terms,
              int64_t rows, int64_t columns, T* sums);
};

// Null where vectors have no masks.
const SkinnyKernel<float>* skinny_kernel(float);
const SkinnyKernel<double>* skinny_kernel(double);

// Null unless it is one of these products.
std::shared_ptr<HostPlan> skinny_plan(const hal::GemmDesc& desc, const std::string& name);

}  // namespace hologram::libraries::packed
