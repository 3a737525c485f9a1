// Pooling along one, two or three axes.
#pragma once

#include <optional>

#include "hologram/nn/convolution.hpp"
#include "hologram/tensor.hpp"

namespace hologram::nn {

template <size_t N>
struct MaxPoolOptions {
  std::optional<PerAxis<N>> stride = {};  // as the kernel, unless given
  PerAxis<N> padding = 0;                 // at most half of the kernel; never the largest
  PerAxis<N> dilation = 1;
  // The last windows may begin inside and end outside: lengths are rounded up, not down.
  bool ceil_mode = false;
};

struct MaxPool {
  Tensor output;
  // i64: where in the input's spatial axes, counted row by row, each element of `output` lies: the
  // first of several equal ones, the last NaN.
  Tensor indices;
};

// The largest element of each window of [batch, channels, spatial axes…]; the batch may be missing.
// NaN if any is. ShapeMismatch, InvalidArgument.
HOLOGRAM_API Tensor max_pool1d(const Tensor& input, const PerAxis<1>& kernel,
                               const MaxPoolOptions<1>& options = {});
HOLOGRAM_API Tensor max_pool2d(const Tensor& input, const PerAxis<2>& kernel,
                               const MaxPoolOptions<2>& options = {});
HOLOGRAM_API Tensor max_pool3d(const Tensor& input, const PerAxis<3>& kernel,
                               const MaxPoolOptions<3>& options = {});
HOLOGRAM_API MaxPool max_pool1d_with_indices(const Tensor& input, const PerAxis<1>& kernel,
                                             const MaxPoolOptions<1>& options = {});
HOLOGRAM_API MaxPool max_pool2d_with_indices(const Tensor& input, const PerAxis<2>& kernel,
                                             const MaxPoolOptions<2>& options = {});
HOLOGRAM_API MaxPool max_pool3d_with_indices(const Tensor& input, const PerAxis<3>& kernel,
                                             const MaxPoolOptions<3>& options = {});
// Zeros of these lengths with `pooled` put back at the indices that pooling gave.
HOLOGRAM_API Tensor max_unpool2d(const Tensor& pooled, const Tensor& indices,
                                 const PerAxis<2>& output);

template <size_t N>
struct AvgPoolOptions {
  std::optional<PerAxis<N>> stride = {};
  PerAxis<N> padding = 0;  // at most half of the kernel
  bool ceil_mode = false;
  bool count_include_pad = true;  // padding counts as zeros; else only what is inside
  std::optional<int64_t> divisor_override = {};
};

// The mean of each window. Of integers in f32.
HOLOGRAM_API Tensor avg_pool1d(const Tensor& input, const PerAxis<1>& kernel,
                               const AvgPoolOptions<1>& options = {});
HOLOGRAM_API Tensor avg_pool2d(const Tensor& input, const PerAxis<2>& kernel,
                               const AvgPoolOptions<2>& options = {});
HOLOGRAM_API Tensor avg_pool3d(const Tensor& input, const PerAxis<3>& kernel,
                               const AvgPoolOptions<3>& options = {});

// Windows such that the result has these lengths: window i goes from floor(i * input / output) to
// ceil((i + 1) * input / output). A length of 0 or less keeps the input's.
HOLOGRAM_API Tensor adaptive_avg_pool1d(const Tensor& input, const PerAxis<1>& output);
HOLOGRAM_API Tensor adaptive_avg_pool2d(const Tensor& input, const PerAxis<2>& output);
HOLOGRAM_API Tensor adaptive_avg_pool3d(const Tensor& input, const PerAxis<3>& output);
HOLOGRAM_API Tensor adaptive_max_pool1d(const Tensor& input, const PerAxis<1>& output);
HOLOGRAM_API Tensor adaptive_max_pool2d(const Tensor& input, const PerAxis<2>& output);
HOLOGRAM_API Tensor adaptive_max_pool3d(const Tensor& input, const PerAxis<3>& output);
// Over all axes from axis 2 on, which stay with a length of 1.
HOLOGRAM_API Tensor global_avg_pool(const Tensor& input);
HOLOGRAM_API Tensor global_max_pool(const Tensor& input);

}  // namespace hologram::nn
