// A vector times a matrix, on the processor: sums of columns, with the bits of packed.hpp; and sums
// of columns alone, with those of hal::ColumnReduceDesc.
#pragma once

#include <cstdint>

#include "libraries/host_plan.hpp"

namespace hologram::libraries::packed {

// d[j] of so many columns: the sum of a[p * a_term] * b[p * ldb + j]. For matrices that lie in a
// near cache: rows are read by pieces, as many columns as the registers have sums for.
template <class T>
struct ColumnKernel {
  int64_t least;  // columns
  void (*run)(const T* a, int64_t a_term, const T* b, int64_t ldb, int64_t terms, int64_t columns,
              T* d);
};

// Null where the processor has no fused multiply-add.
const ColumnKernel<float>* column_kernel(float);
const ColumnKernel<double>* column_kernel(double);

// d[j] of so many columns: the sum of x[p * step + j] over so many rows.
template <class T>
using ColumnSums = void(const T* x, int64_t step, int64_t rows, int64_t columns, T* d);
ColumnSums<float>* column_sums(float);
ColumnSums<double>* column_sums(double);

// Why sums of columns are not for these kernels.
std::optional<hal::Refusal> refuses(const hal::ColumnReduceDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::ColumnReduceDesc& desc);  // one that is not refused

}  // namespace hologram::libraries::packed
