#include "hologram/nn/training.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hologram/ops.hpp"

namespace hologram::nn {

namespace {

std::vector<Tensor> values_of(const std::vector<Tensor*>& tensors) {
  std::vector<Tensor> values;
  values.reserve(tensors.size());
  for (const Tensor* t : tensors) values.push_back(*t);
  return values;
}

// Other values for a while.
class Instead {
 public:
  Instead(const std::vector<Tensor*>& tensors, const std::vector<Tensor>& values)
      : tensors_(tensors), before_(values_of(tensors)) {
    for (size_t i = 0; i < tensors.size(); i++) *tensors[i] = values[i];
  }
  ~Instead() {
    for (size_t i = 0; i < tensors_.size(); i++) *tensors_[i] = std::move(before_[i]);
  }
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  const std::vector<Tensor*>& tensors_;
  std::vector<Tensor> before_;
};

}  // namespace

ValueAndGradient value_and_gradient(Module& module, const std::function<Tensor()>& loss) {
  const std::vector<Tensor*> parameters = module.parameters();
  return hologram::value_and_gradient(
      [&](const std::vector<Tensor>& stand_ins) {
        const Instead instead(parameters, stand_ins);
        return loss();
      },
      values_of(parameters));
}

Tensor clip_by_norm(std::vector<Tensor>& gradients, double max_norm) {
  std::vector<Tensor> norms;
  norms.reserve(gradients.size());
  for (const Tensor& g : gradients) norms.push_back(ops::norm(g.to(DType::F32)));
  if (norms.empty()) return ops::zeros({}, DType::F32);
  Tensor all = ops::norm(ops::stack(norms));
  // As PyTorch has it: a little less than the bound, and no division by 0.
  const Tensor scale = ops::minimum(max_norm / (all + 1e-6), 1);
  for (Tensor& g : gradients) g = g * scale.to(g.dtype());
  return all;
}

Tensor Optimizer::step(const std::function<Tensor()>& loss) {
  auto [value, gradients] = value_and_gradient(module_, loss);
  if (max_norm > 0) clip_by_norm(gradients, max_norm);
  const std::vector<Tensor*> parameters = module_.parameters();
  std::vector<Tensor> moved = values_of(parameters);
  move(moved, gradients);
  std::vector<Tensor> all = moved;
  all.push_back(value);
  list_state(all);
  for (const auto& [name, buffer] : module_.named_buffers()) all.push_back(*buffer);
  eval(all);
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i] = moved[i];
  return value;
}

void Adam::move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
  fused_adam_step(parameters, gradients, state, options);
}
void Adam::list_state(std::vector<Tensor>& into) const {
  for (const auto* list : {&state.exp_avg, &state.exp_avg_sq, &state.max_exp_avg_sq})
    into.insert(into.end(), list->begin(), list->end());
  if (state.step.defined()) into.push_back(state.step);
}

AdamW::AdamW(Module& module, AdamOptions options) : Adam(module, options) {
  this->options.decoupled = true;
}

void Sgd::move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
  fused_sgd_step(parameters, gradients, state, options);
}
void Sgd::list_state(std::vector<Tensor>& into) const {
  into.insert(into.end(), state.momentum_buffer.begin(), state.momentum_buffer.end());
}

double cosine_schedule(double lr, int64_t step, int64_t warmup, int64_t total, double least) {
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double done = std::clamp(static_cast<double>(step - warmup) /
                                     static_cast<double>(std::max<int64_t>(1, total - warmup)),
                                 0.0, 1.0);
  return lr * (least + (1 - least) * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

}  // namespace hologram::nn
