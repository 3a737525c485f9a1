// Parts of matrices, and products and sums over named axes. What takes decompositions is in
// linalg.hpp.
#pragma once

#include <string_view>

#include "hologram/linear.hpp"

namespace hologram::ops {

// Sums of products over named axes, as NumPy's: "ij,jk->ik". A letter is an axis; letters that the
// result does not name are summed over. Without "->" the result has the letters that stand once, in
// alphabetical order. A letter twice in one operand is its diagonal. "..." stands for the axes that
// have no letter, which are repeated as elementwise operations do. Operands are multiplied two at a
// time, from the first to the last, by matmul where that is what it comes to: with more than two,
// their order is the caller's to choose. dtypes are promoted; floats and integers are summed as
// matmul does. InvalidArgument for an equation that cannot be read, ShapeMismatch for lengths that
// differ.
HOLOGRAM_API Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

// The last two axes with 0 above, or below, the diagonal that lies so many above the main one.
HOLOGRAM_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
HOLOGRAM_API Tensor triu(const Tensor& x, int64_t diagonal = 0);
// The elements of two axes at equal indices, along a new last axis; those axes go. A view.
HOLOGRAM_API Tensor diagonal(const Tensor& x, int64_t offset = 0, int a = 0, int b = 1);
// A matrix with a vector on its diagonal and 0 elsewhere; of a matrix its diagonal.
HOLOGRAM_API Tensor diag(const Tensor& x, int64_t offset = 0);
// sum(diagonal(x)).
HOLOGRAM_API Tensor trace(const Tensor& x, int64_t offset = 0, int a = 0, int b = 1);

// The Kronecker product: each element of a times all of b. At most 4 axes.
HOLOGRAM_API Tensor kron(const Tensor& a, const Tensor& b);
// The cross product of vectors of three elements along an axis.
HOLOGRAM_API Tensor cross(const Tensor& a, const Tensor& b, int axis = -1);
// sum(a * b) along an axis, in the dtype of both; operands are repeated to one shape.
HOLOGRAM_API Tensor vecdot(const Tensor& a, const Tensor& b, int axis = -1);
// The product of so many of the square matrices in the last two axes, by squaring; of 0 the
// identity. A negative exponent takes the inverse (linalg::inv).
HOLOGRAM_API Tensor matrix_power(const Tensor& x, int64_t exponent);

// The distances between the rows of a [..., n, k] and of b [..., m, k]: [..., n, m], each the norm
// of that order of the difference.
HOLOGRAM_API Tensor cdist(const Tensor& a, const Tensor& b, double order = 2);
// The covariance of variables, which are rows (a vector is one): sums of products of distances from
// the means, divided by observations - correction. Of a vector a number.
HOLOGRAM_API Tensor cov(const Tensor& x, double correction = 1);
// cov divided by the deviations of both, within [-1, 1].
HOLOGRAM_API Tensor corrcoef(const Tensor& x);

}  // namespace hologram::ops
