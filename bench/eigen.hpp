// The same calculations by Eigen, compiled for this very machine; one thread a call.
#pragma once

#include "loops.hpp"

namespace eigen {

using loops::Loop;

Loop add();
Loop fma();
Loop sigmoid();
Loop twelve();
Loop sum();
Loop row_sums();
Loop softmax();
Loop matmul();  // rows of the product of two square matrices

}  // namespace eigen
