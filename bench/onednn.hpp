// Convolutions by oneDNN as one would call it: one primitive over all of the work, on the library's
// own threads, with weights that were brought into its order once.
#pragma once

#include "loops.hpp"

namespace onednn {

// Null if the library is not there.
loops::Loop conv2d();

}  // namespace onednn
