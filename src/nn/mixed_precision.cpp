#include "hologram/nn/mixed_precision.hpp"

#include "nn/common.hpp"
#include "tensor/precision.hpp"

namespace hologram::nn {

struct Precision::Policies {
  tensor::ProductPolicy own;
  const tensor::ProductPolicy* before;
};

Precision::Precision(const MixedPrecision& how) {
  const bool half = how.compute == DType::F16 || how.compute == DType::BF16;
  if (!half)
    throw core::error(Text::OperandDType, "MixedPrecision", hologram::name_of(how.compute),
                      "f16 or bf16 to compute in");
  if (how.accumulate != DType::F32 && how.accumulate != how.compute)
    throw core::error(Text::OperandDType, "MixedPrecision", hologram::name_of(how.accumulate),
                      "f32, or the dtype that is computed in, as results");
  policies_ = new Policies{{how.compute, how.accumulate}, nullptr};
  policies_->before = tensor::set_products(&policies_->own);
}

Precision::~Precision() {
  tensor::set_products(policies_->before);
  delete policies_;
}

LossScaleState loss_scale_state(const LossScale& how, const Executor& executor) {
  constexpr const char* kName = "MixedPrecision";
  need(how.initial > 0, kName, "scale", how.initial, "a number above 0");
  need(how.growth >= 1, kName, "growth", how.growth, "1 or more");
  need(how.backoff > 0 && how.backoff <= 1, kName, "backoff", how.backoff,
       "a number from above 0 to 1");
  need(how.interval > 0, kName, "interval", static_cast<double>(how.interval), "1 or more");
  return {ops::full({}, how.initial, DType::F32, executor), ops::zeros({}, DType::I64, executor),
          ops::zeros({}, DType::I64, executor)};
}

Tensor unscale(std::vector<Tensor>& gradients, const LossScaleState& state) {
  std::vector<Tensor> finite;
  finite.reserve(gradients.size());
  for (Tensor& g : gradients) {
    g = g.to(wide_dtype(g.dtype()));
    g = g / state.scale.to(g.dtype());
    finite.push_back(ops::all(ops::isfinite(g)));
  }
  if (finite.empty()) return ops::ones({}, DType::Bool, state.scale.executor());
  return ops::all(ops::stack(finite));
}

void advance(LossScaleState& state, const LossScale& how, const Tensor& finite) {
  // Neither beyond f32 nor down to 0.
  constexpr double kLeast = 0x1p-100, kMost = 0x1p100;
  const Tensor good = state.good + 1, rises = good >= how.interval;
  const Tensor risen = ops::where(rises, state.scale * how.growth, state.scale);
  state.scale = ops::clamp(ops::where(finite, risen, state.scale * how.backoff), kLeast, kMost);
  state.good = ops::where(finite & ~rises, good, 0);
  state.skipped = state.skipped + (~finite).to(DType::I64);
}

void keep_unless(const Tensor& finite, std::vector<Tensor*>& now,
                 const std::vector<Tensor>& before) {
  for (size_t i = 0; i < now.size(); i++) {
    Tensor& tensor = *now[i];
    const bool known = i < before.size() && before[i].defined();
    tensor = known ? ops::where(finite, tensor, before[i])
                   : ops::where(finite, tensor, 0).to(tensor.dtype());
  }
}

}  // namespace hologram::nn
