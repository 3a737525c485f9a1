// Mixed precision: products and convolutions of f16 or bf16, sums and parameters in f32.
//
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   optimizer.precision = nn::MixedPrecision{.compute = DType::F16};
//   Tensor loss = optimizer.step([&] { return nn::cross_entropy(model(x), y); });
//
// Parameters stay f32: a product rounds its factors, and gradients come back as f32. Normalisation,
// softmax and losses are computed in f32. Numbers of f16 end at 65504, so gradients are computed of
// the loss times a scale; a step in which one of them is infinite or NaN changes nothing but the
// scale, which then falls. All of that happens on the device: nobody waits for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::nn {

struct LossScale {
  double initial = 65536;   // more than 0
  double growth = 2;        // 1 or more: what a rise multiplies it by
  double backoff = 0.5;     // from above 0 to 1: what a fall multiplies it by
  int64_t interval = 2000;  // steps without an overflow before it rises
};

struct MixedPrecision {
  DType compute = DType::F16;     // F16 or BF16: what products and convolutions are made of
  DType accumulate = DType::F32;  // of their results: F32 keeps the sums, `compute` rounds them
  std::optional<LossScale> scale = LossScale{};  // none: the loss is not scaled, no step is skipped
};

// While one lives, functions that this thread calls compute products and convolutions of f32, f16
// and bf16 that way: ops::matmul and what is made of it, ops::conv2d, layers, attention.
// InvalidArgument for other dtypes.
class HOLOGRAM_API Precision {
 public:
  explicit Precision(const MixedPrecision& how);
  ~Precision();
  Precision(const Precision&) = delete;
  Precision& operator=(const Precision&) = delete;

 private:
  struct Policies;
  Policies* policies_;
};

// What scaling remembers, as tensors of no axes: the factor (f32), steps since the last overflow or
// rise, and steps that were skipped so far (i64).
struct LossScaleState {
  Tensor scale, good, skipped;
};
HOLOGRAM_API LossScaleState loss_scale_state(const LossScale& how, const Executor& executor);
// Divides gradients by the scale. Whether all of them are finite: a bool of no axes.
HOLOGRAM_API Tensor unscale(std::vector<Tensor>& gradients, const LossScaleState& state);
// The scale of the next step, as this one was finite or not.
HOLOGRAM_API void advance(LossScaleState& state, const LossScale& how, const Tensor& finite);
// Each tensor of `before` where the step was not finite: what was not there yet becomes 0.
HOLOGRAM_API void keep_unless(const Tensor& finite, std::vector<Tensor*>& now,
                              const std::vector<Tensor>& before);

}  // namespace hologram::nn
