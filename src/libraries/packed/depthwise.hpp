// Convolutions of each channel by itself, on the processor: bit for bit what the program of
// libraries/convolution.hpp makes of them.
#pragma once

#include "libraries/host_plan.hpp"

namespace hologram::libraries::packed {

// Columns of a kernel that slides: what one output has of the image, the next has a column further.
// Each element is then loaded once for several outputs, which is faster than oneDNN's convolutions;
// of other kernels those are.
inline constexpr int64_t kSlide = 3;
inline bool slides(const hal::ConvDesc& desc) {
  return desc.columns.kernel == kSlide && desc.columns.stride == desc.columns.dilation;
}

// For the best vector instructions of this processor.
struct DepthwiseKernel {
  int64_t least;  // channels
  // A row of d, from so many rows of the kernel, which begin at w, and those of the image that they
  // meet, the first of which begins at x.
  void (*row)(const hal::ConvDesc& desc, const float* x, const float* w, int64_t rows, float* d);
};

// Null where the processor has no fused multiply-add.
const DepthwiseKernel* depthwise_kernel();

// Whether a convolution is for this kernel. Most are not, and nobody asks why.
bool takes(const hal::ConvDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::ConvDesc& desc);  // one that it takes

}  // namespace hologram::libraries::packed
