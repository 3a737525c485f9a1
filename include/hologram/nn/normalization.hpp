// Normalisation: mean 0 and variance 1, or length 1, over some axes.
//
// Statistics are computed in f32 (of f64 in f64). As in PyTorch, what lies so far from the mean, or
// for rms_norm from 0, that its square is beyond that dtype (1e19 in f32) becomes 0.
#pragma once

#include <optional>

#include "hologram/reductions.hpp"
#include "hologram/tensor.hpp"

namespace hologram::nn {

struct BatchNormOptions {
  std::optional<Tensor> weight = {}, bias = {};  // [channels]
  bool training = false;                         // with the batch's own statistics
  double momentum = 0.1;                         // new = (1 - momentum) * old + momentum * batch
  double eps = 1e-5;
};
struct BatchNorm {
  Tensor output;
  Tensor running_mean, running_var;  // the new ones in training, else those given
};
// (x - mean) / sqrt(var + eps) * weight + bias for each channel of [batch, channels, …]. The
// variance of the batch is divided by n for `output` and by n - 1 for `running_var`. Running
// statistics may be missing in training: then the result has none. ShapeMismatch, InvalidArgument.
HOLOGRAM_API BatchNorm batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean,
                                  const std::optional<Tensor>& running_var,
                                  const BatchNormOptions& options = {});

struct LayerNormOptions {
  std::optional<Tensor> weight = {}, bias = {};  // of the normalised shape
  double eps = 1e-5;
};
// Over the last axes, whose lengths are `normalized_shape`.
HOLOGRAM_API Tensor layer_norm(const Tensor& x, const Shape& normalized_shape,
                               const LayerNormOptions& options = {});
// x / sqrt(mean(x * x) + eps) * weight over the last axes. Without an eps: the distance from 1 to
// the next number of x's dtype.
HOLOGRAM_API Tensor rms_norm(const Tensor& x, const Shape& normalized_shape,
                             const std::optional<Tensor>& weight = {},
                             std::optional<double> eps = {});
// The same over the last axis, of the weight's length.
HOLOGRAM_API Tensor rmsnorm(const Tensor& x, const Tensor& weight, double eps = 1e-5);

struct GroupNormOptions {
  std::optional<Tensor> weight = {}, bias = {};  // [channels]
  double eps = 1e-5;
};
// Over so many groups of channels of [batch, channels, …], of each image by itself.
HOLOGRAM_API Tensor group_norm(const Tensor& x, int64_t num_groups,
                               const GroupNormOptions& options = {});
// Over each channel of each image; with running statistics instead of its own, if they are given
// and `use_input_stats` is false.
struct InstanceNormOptions {
  std::optional<Tensor> running_mean = {}, running_var = {};  // [channels]
  std::optional<Tensor> weight = {}, bias = {};               // [channels]
  bool use_input_stats = true;
  double eps = 1e-5;
};
HOLOGRAM_API Tensor instance_norm(const Tensor& x, const InstanceNormOptions& options = {});

struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};
// x / (k + alpha * mean(x * x of `size` neighbouring channels))^beta.
HOLOGRAM_API Tensor local_response_norm(const Tensor& x, int64_t size,
                                        const LocalResponseNormOptions& options = {});

// x / max(norm(x), eps) along an axis.
HOLOGRAM_API Tensor normalize(const Tensor& x, double p = 2, int axis = 1, double eps = 1e-12);
// sum(a * b) / (max(|a|, eps) * max(|b|, eps)) along an axis.
HOLOGRAM_API Tensor cosine_similarity(const Tensor& a, const Tensor& b, int axis = 1,
                                      double eps = 1e-8);
// norm(a - b + eps) along the last axis.
HOLOGRAM_API Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2,
                                      double eps = 1e-6, bool keepdims = false);

}  // namespace hologram::nn
