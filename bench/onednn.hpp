// oneDNN as one would call it: on the library's own threads; convolutions by one primitive over all
// of the work, with weights that were brought into its order once. Null if it is not there.
#pragma once

#include <string>

#include "loops.hpp"

namespace onednn {

using loops::Loop;

std::string version();  // "oneDNN 2.6.3"

Loop matmul();
Loop matmul_rows();  // the same of some rows, on the calling thread alone
Loop vector_matrix();
Loop matrix_vector();
Loop conv2d();
Loop conv2d_1x1();
Loop conv2d_depthwise();
Loop conv2d_stride2();

}  // namespace onednn
