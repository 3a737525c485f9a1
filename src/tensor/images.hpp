// What convolutions and pooling have in common: the axes of images.
#pragma once

#include <string_view>
#include <utility>

#include "hologram/convolution.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::tensor {

// InvalidArgument unless the number is between `least` and what anybody could want.
void check_number(const char* operation, std::string_view what, int64_t number, int64_t least);
void check_numbers(const char* operation, const ops::Extent& stride, const ops::Extent& dilation,
                   const ops::Padding2d& padding);

// Whether images [batch, height, width, channels] lie in memory as one plane behind the other.
bool lie_in_planes(const Tensor& images);

// Rows and columns of images [batch, height, width, channels]. ShapeMismatch if the kernel does not
// fit.
std::pair<hal::ConvAxis, hal::ConvAxis> image_axes(const char* operation, const Tensor& images,
                                                   const ops::Extent& kernel,
                                                   const ops::Extent& stride,
                                                   const ops::Extent& dilation,
                                                   const ops::Padding2d& padding);

}  // namespace hologram::tensor
