// The bilateral filter as an ordinary C++ program has it.
#pragma once

namespace plain {

// src and dst are [h, w, 3]; rows are shared out among `threads` threads.
void bilateral(const float* src, float* dst, int h, int w, float sigma_space, float sigma_range,
               int threads);

}  // namespace plain
