// Decompositions of batches of matrices in memory of the host, by LAPACK.
//
// Matrices are column-major, one behind the other: an array [count, columns, rows]. A device's own
// library of decompositions would take the same tasks.
#pragma once

#include <string_view>
#include <vector>

#include "hologram/array.hpp"

namespace hologram::libraries {

enum class Decomposition {
  Solve,           // a, b -> x with a x = b
  Lu,              // a -> l and u in one matrix; the sign of the permutation, [count]
  Cholesky,        // a -> its triangle; the other one is not touched
  Qr,              // a -> q [m, k], r in a matrix [m, n], whose lower part is not touched
  CompleteQr,      // the same with q [m, m]
  Eigen,           // a -> eigenvalues [count, n], eigenvectors
  Eigenvalues,     // a -> eigenvalues
  Svd,             // a -> s [count, k], u [m, k], vt [k, n]
  FullSvd,         // the same with u [m, m], vt [n, n]
  SingularValues,  // a -> s
  LeastSquares     // a, b -> x, ranks [count] (i32), s
};

struct DecompositionTask {
  std::string_view name;  // of the function that asks for it, for errors
  Decomposition which;
  std::vector<Array> operands = {};  // of f32 or f64
  bool upper = false;                // Cholesky: the triangle that is read and made
  double cutoff = 0;                 // LeastSquares: what counts as 0, relative to the largest
};

// UnsupportedOperation without LAPACK, InvalidArgument for a matrix that has no such decomposition.
std::vector<Array> decompose(const DecompositionTask& task);

}  // namespace hologram::libraries
