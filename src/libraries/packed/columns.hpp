// A vector times a matrix, on the processor: sums of columns, with the bits of packed.hpp.
#pragma once

#include <cstdint>

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

}  // namespace hologram::libraries::packed
