// Steps of optimizers, fused: each parameter, its moments and its update are one kernel.
#pragma once

#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::nn {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // weight decay of AdamW, beside the gradient
  bool amsgrad = false;
  bool maximize = false;
};
// One tensor a parameter, and the number of steps so far: an f32 of one element, so that a captured
// graph can count. Empty at the beginning.
struct AdamState {
  std::vector<Tensor> exp_avg, exp_avg_sq, max_exp_avg_sq;
  Tensor step;
};
// The next parameters and state by PyTorch's rule: eps is added outside of the root. Moments have
// the dtype of their parameter, f32 for f16 and bf16. ShapeMismatch, InvalidArgument.
HOLOGRAM_API void fused_adam_step(std::vector<Tensor>& parameters,
                                  const std::vector<Tensor>& gradients, AdamState& state,
                                  const AdamOptions& options = {});

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
struct SgdState {
  std::vector<Tensor> momentum_buffer;  // empty at the beginning, and without momentum
};
HOLOGRAM_API void fused_sgd_step(std::vector<Tensor>& parameters,
                                 const std::vector<Tensor>& gradients, SgdState& state,
                                 const SgdOptions& options = {});

}  // namespace hologram::nn
