// Products by OpenBLAS, on its own threads. Null if it is not there.
#pragma once

#include <string>

#include "loops.hpp"

namespace openblas {

using loops::Loop;

std::string version();  // "OpenBLAS 0.3.21"

Loop matmul();
Loop matmul_f64();
Loop vector_matrix();
Loop matrix_vector();

}  // namespace openblas
