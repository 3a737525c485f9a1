// The same calculations by Eigen, compiled for this very machine; one thread a call.
#pragma once

#include "loops.hpp"

namespace eigen {

using loops::Loop;

Loop add();
Loop fma();
Loop sigmoid();
Loop twelve();
Loop exp();
Loop sum();
Loop dot();
Loop row_sums();
Loop softmax();
Loop matmul();  // rows of the product of two square matrices
Loop matmul_f64();
Loop matrix_vector();

}  // namespace eigen
