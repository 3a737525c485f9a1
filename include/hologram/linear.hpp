// Products of vectors and matrices.
//
// Floats are summed in f32 (f64 in f64), integers wrap, and of bool `and` and `or` take the places
// of product and sum. Sums of bf16 by a device's own instructions may take what is below f32's
// smallest normal number for 0. A vendor library computes the product where there is one, an Atlas
// program where there is none; which it was, `explain` and the counters of the executor tell.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// The last two axes are matrices, those before them a batch, which is repeated as elementwise
// operations do. A vector on the left is a row, on the right a column; that axis goes again.
// ShapeMismatch if the inner lengths differ.
HOLOGRAM_API Tensor matmul(const Tensor& a, const Tensor& b);
// The same with a result of this dtype: f32 keeps the sums of f16 and bf16 as they were added up,
// and the operands' own is that of matmul(a, b). DTypeMismatch for any other.
HOLOGRAM_API Tensor matmul(const Tensor& a, const Tensor& b, DType out);
// The same of exactly three axes, with equal batches.
HOLOGRAM_API Tensor bmm(const Tensor& a, const Tensor& b);
// alpha * a @ b + beta * c, with a or b transposed first; c is repeated to the result's shape. The
// dtype is that of a, b and c together, for all alpha and beta: numbers, which it has to hold. f16
// and bf16 are rounded once, at the end. With a beta of 0 the values of c do not count.
HOLOGRAM_API Tensor gemm(const Tensor& a, const Tensor& b, const Tensor& c,
                         const Operand& alpha = 1, const Operand& beta = 1,
                         bool transpose_a = false, bool transpose_b = false);
// alpha * a @ x + beta * y of a matrix and vectors.
HOLOGRAM_API Tensor gemv(const Tensor& a, const Tensor& x, const Tensor& y,
                         const Operand& alpha = 1, const Operand& beta = 1);
// sum(a * b) of two vectors.
HOLOGRAM_API Tensor dot(const Tensor& a, const Tensor& b);
// a[i] * b[j] of two tensors, flattened.
HOLOGRAM_API Tensor outer(const Tensor& a, const Tensor& b);
// Sums over the last `axes` axes of a and the first ones of b.
HOLOGRAM_API Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);
// Sums over these axes of a and of b, pairwise.
HOLOGRAM_API Tensor tensordot(const Tensor& a, const Tensor& b, std::vector<int> axes_a,
                              std::vector<int> axes_b);

}  // namespace hologram::ops
