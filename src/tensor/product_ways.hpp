// What a product of matrices is made of on a device: rows of one table, in the order in which they
// are asked.
#pragma once

#include "graph/candidates.hpp"
#include "hologram/tensor.hpp"

namespace hologram::ops {

int64_t rows_of(const Tensor& matrix);
int64_t columns_of(const Tensor& matrix);

// Of factors of one dtype, on one executor, of at least two axes each: the first way that takes
// them.
Tensor product_of(const Tensor& x, const Tensor& y, DType out);

// All ways, and why those before it do not.
graph::Candidates product_ways(const Tensor& x, const Tensor& y, DType out);

}  // namespace hologram::ops
