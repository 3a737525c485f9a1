// Decompositions of matrices and what follows from them.
//
// The last two axes are matrices, those before them a batch. Operands are f32 or f64 (integers and
// bool become f32, f16 and bf16 are a DTypeMismatch); so are results, in the same dtype. The work
// is done by LAPACK, which is opened when it is first needed (docs/configuration.md): on the host,
// at the call, so that a matrix that has no answer is an error of the call. Operands of other
// devices are copied there and results back, which is counted in Executor::counters().fallbacks and
// logged; with `strict` it is an error. UnsupportedOperation where there is no LAPACK. Last bits
// are the library's, as is the sign of vectors that are determined up to their sign.
//
// ShapeMismatch for what is no matrix, or not square where it has to be. InvalidArgument for
// singular matrices, and for NaN and infinities where no answer has a meaning (eigh, svd, lstsq
// and what uses them).
#pragma once

#include "hologram/reductions.hpp"

namespace hologram::linalg {

// x with a @ x = b. b is a vector if it has one axis, else matrices; batches are repeated as
// elementwise operations do.
HOLOGRAM_API Tensor solve(const Tensor& a, const Tensor& b);
HOLOGRAM_API Tensor inv(const Tensor& a);

HOLOGRAM_API Tensor det(const Tensor& a);
struct SlogDet {
  Tensor sign, logabsdet;  // det = sign * exp(logabsdet); of singular matrices 0 and -infinity
};
HOLOGRAM_API SlogDet slogdet(const Tensor& a);

// l, lower triangular with a = l @ l.T; or u, upper triangular with a = u.T @ u. Of a symmetric,
// positive definite matrix, of which one triangle is read: the lower, or the upper one.
HOLOGRAM_API Tensor cholesky(const Tensor& a, bool upper = false);

// a = q @ r, q with orthonormal columns, r upper triangular. Of [m, n]: q [m, k] and r [k, n] with
// k = min(m, n), or if complete k = m.
struct QR {
  Tensor q, r;
};
HOLOGRAM_API QR qr(const Tensor& a, bool complete = false);

// Of symmetric matrices, of which the lower triangle is read: eigenvalues in ascending order, and
// eigenvectors, which are columns.
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
HOLOGRAM_API Eigh eigh(const Tensor& a);
HOLOGRAM_API Tensor eigvalsh(const Tensor& a);

// a = u @ diag(s) @ vh with s in descending order. Of [m, n]: u [m, m] and vh [n, n], or, unless
// full, u [m, k] and vh [k, n] with k = min(m, n).
struct SVD {
  Tensor u, s, vh;
};
HOLOGRAM_API SVD svd(const Tensor& a, bool full_matrices = true);
HOLOGRAM_API Tensor svdvals(const Tensor& a);

// By svd: singular values up to `relative` times the largest count as 0, by default
// max(m, n) * epsilon of the dtype.
HOLOGRAM_API Tensor pinv(const Tensor& a, std::optional<double> relative = {});
HOLOGRAM_API Tensor matrix_rank(const Tensor& a, std::optional<double> relative = {});  // i64

// The x for which |b - a @ x| is least, of several the shortest. `residuals` are the squares of
// those, for every right-hand side (NumPy leaves them empty where the rank is less than n, or m is
// no more).
struct LeastSquares {
  Tensor solution, residuals, rank, singular_values;  // rank: i64
};
HOLOGRAM_API LeastSquares lstsq(const Tensor& a, const Tensor& b,
                                std::optional<double> relative = {});

// Norms of matrices: of order 1 (-1) the largest (smallest) sum of magnitudes of a column, of
// infinity (-infinity) of a row, of 2 (-2) the largest (smallest) singular value. InvalidArgument
// for others.
HOLOGRAM_API Tensor matrix_norm(const Tensor& a, double order, bool keepdims = false);
enum class MatrixNorm { Frobenius, Nuclear };  // sqrt(sum(a * a)), the sum of the singular values
HOLOGRAM_API Tensor matrix_norm(const Tensor& a, MatrixNorm order = MatrixNorm::Frobenius,
                                bool keepdims = false);
// ops::norm: sum(|x|^order)^(1 / order).
HOLOGRAM_API Tensor vector_norm(const Tensor& x, const ops::Axes& axes = {}, bool keepdims = false,
                                double order = 2);

}  // namespace hologram::linalg
