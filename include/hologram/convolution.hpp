// Convolutions and pooling of images.
//
// Floats are summed in f32 (f64 in f64) and rounded once, integers wrap, and of bool `and` and `or`
// take the places of product and sum. A vendor library computes the convolution where there is one,
// an Atlas program where there is none; which it was, `explain` and the counters of the executor
// tell.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// The order of the axes of images, and with it that of weights: of Nhwc images kernel height,
// kernel width, channels, outputs (HWIO); of Nchw ones outputs, channels, kernel height, kernel
// width (OIHW). Channels of a weight are those of one group. Nhwc is the faster one.
enum class ImageLayout : uint8_t { Nhwc, Nchw };

// A number for the height and one for the width, or one for both.
struct Extent {
  int64_t height = 1, width = 1;
  constexpr Extent(int64_t both = 1) : height(both), width(both) {}
  constexpr Extent(int64_t of_height, int64_t of_width) : height(of_height), width(of_width) {}
};

// How much is put around an image: the same on every side, above and below and beside, or on each
// side. same(): as much as makes the result input / stride, rounded up; the odd one comes after.
struct Padding2d {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool is_same = false;
  constexpr Padding2d(int64_t all = 0) : Padding2d(all, all) {}
  constexpr Padding2d(int64_t vertical, int64_t horizontal)
      : Padding2d(vertical, vertical, horizontal, horizontal) {}
  constexpr Padding2d(int64_t above, int64_t below, int64_t before, int64_t after)
      : top(above), bottom(below), left(before), right(after) {}
  static constexpr Padding2d same() {
    Padding2d made;
    made.is_same = true;
    return made;
  }
};

struct Conv2d {
  Extent stride = 1;
  Padding2d padding = 0;  // with zeros
  Extent dilation = 1;
  // Channels and outputs fall into so many groups, of which each sees itself only; as many as there
  // are channels: a depthwise convolution.
  int64_t groups = 1;
  std::optional<Tensor> bias = {};  // one number an output, added before the result is rounded
  ImageLayout layout = ImageLayout::Nhwc;
};

// result[n, y, x, o] = sum over i, j, c of
//   input[n, y * stride + i * dilation - top, x * stride + j * dilation - left, c] * weight[i, j,
//   c, o].
// An input of three axes is one image. The lengths of the result are
// (input + padding - dilation * (kernel - 1) - 1) / stride + 1, rounded down. What an infinite or
// NaN weight makes of padding is not said. ShapeMismatch, InvalidArgument.
//
//   ops::conv2d(images, weight, {.stride = 2, .padding = 1});
HOLOGRAM_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2d& options = {});

struct Pool2d {
  Extent kernel = 2;
  std::optional<Extent> stride = {};  // as the kernel, unless given
  Padding2d padding = 0;              // less than the kernel
  bool count_include_pad = false;     // of a mean: divided by the size of the kernel everywhere
  ImageLayout layout = ImageLayout::Nhwc;
};

// The largest element of each window of each channel, and the mean of its elements (of integers in
// f32). What lies outside of the image does not count. An input of three axes is one image.
// ShapeMismatch, InvalidArgument.
HOLOGRAM_API Tensor max_pool2d(const Tensor& input, const Pool2d& options = {});
HOLOGRAM_API Tensor avg_pool2d(const Tensor& input, const Pool2d& options = {});

}  // namespace hologram::ops
