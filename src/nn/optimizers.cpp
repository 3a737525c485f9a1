#include "hologram/nn/optimizers.hpp"

#include <cmath>

#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// Moments are kept in the dtype that they are computed in. Empty: zeros, the beginning.
Tensor moment(const char* name, std::vector<Tensor>& all, size_t i, const Tensor& parameter) {
  if (!all[i].defined())
    return ops::zeros(parameter.shape(), wide_dtype(parameter.dtype()), parameter.executor());
  need_shape(name, "state", all[i], parameter.shape());
  return all[i];
}

void check_lists(const char* name, const std::vector<Tensor>& parameters,
                 const std::vector<Tensor>& gradients,
                 std::initializer_list<std::vector<Tensor>*> state) {
  if (gradients.size() != parameters.size())
    throw core::error(Text::NnCount, name, gradients.size(), "gradients", parameters.size());
  for (std::vector<Tensor>* list : state) {
    if (list->empty()) list->resize(parameters.size());
    if (list->size() != parameters.size())
      throw core::error(Text::NnCount, name, list->size(), "states", parameters.size());
  }
  for (size_t i = 0; i < parameters.size(); i++) {
    need_shape(name, "a gradient", gradients[i], parameters[i].shape());
    if (!is_float(parameters[i].dtype()))
      throw core::error(Text::OperandDType, name, hologram::name_of(parameters[i].dtype()),
                        "floats as parameters");
  }
}

}  // namespace

void fused_adam_step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
                     AdamState& state, const AdamOptions& o) {
  constexpr const char* kName = "fused_adam_step";
  need(o.beta1 >= 0 && o.beta1 < 1, kName, "beta1", o.beta1, "a number from 0 to below 1");
  need(o.beta2 >= 0 && o.beta2 < 1, kName, "beta2", o.beta2, "a number from 0 to below 1");
  check_lists(kName, parameters, gradients, {&state.exp_avg, &state.exp_avg_sq});
  if (o.amsgrad) check_lists(kName, parameters, gradients, {&state.max_exp_avg_sq});
  if (parameters.empty()) return;
  state.step = state.step.defined() ? state.step + 1
                                    : ops::ones({}, DType::F32, parameters.front().executor());
  for (size_t i = 0; i < parameters.size(); i++) {
    Tensor p = upcast(parameters[i]);
    const Tensor given = gradients[i].to(p.dtype());
    Tensor g = o.maximize ? -given : given;
    if (o.weight_decay != 0) {
      if (o.decoupled) p = p * (1 - o.lr * o.weight_decay);
      else g = g + p * o.weight_decay;
    }
    const Tensor m = moment(kName, state.exp_avg, i, p), v = moment(kName, state.exp_avg_sq, i, p);
    state.exp_avg[i] = m + (g - m) * (1 - o.beta1);
    state.exp_avg_sq[i] = v * o.beta2 + g * g * (1 - o.beta2);
    Tensor second = state.exp_avg_sq[i];
    if (o.amsgrad)
      second = state.max_exp_avg_sq[i] =
          ops::maximum(moment(kName, state.max_exp_avg_sq, i, p), second);
    // 1 - beta^step without a difference of numbers that are nearly equal.
    const Tensor steps = state.step.to(p.dtype());
    const auto correction = [&](double beta) {
      return beta == 0 ? ops::ones({}, p.dtype(), p.executor())
                       : -ops::expm1(steps * std::log(beta));
    };
    const Tensor root = ops::sqrt(second) / ops::sqrt(correction(o.beta2)) + o.eps;
    const Tensor next = p - o.lr / correction(o.beta1) * (state.exp_avg[i] / root);
    parameters[i] = next.to(parameters[i].dtype());
  }
}

void fused_sgd_step(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
                    SgdState& state, const SgdOptions& o) {
  constexpr const char* kName = "fused_sgd_step";
  need(!o.nesterov || (o.momentum > 0 && o.dampening == 0), kName, "momentum", o.momentum,
       "more than 0, and no dampening, with nesterov");
  check_lists(kName, parameters, gradients, {});
  if (o.momentum != 0) check_lists(kName, parameters, gradients, {&state.momentum_buffer});
  for (size_t i = 0; i < parameters.size(); i++) {
    const Tensor p = upcast(parameters[i]);
    const Tensor given = gradients[i].to(p.dtype());
    Tensor g = o.maximize ? -given : given;
    if (o.weight_decay != 0) g = g + p * o.weight_decay;
    if (o.momentum != 0) {
      Tensor& buffer = state.momentum_buffer[i];
      buffer = buffer.defined()
                   ? moment(kName, state.momentum_buffer, i, p) * o.momentum + g * (1 - o.dampening)
                   : g;
      g = o.nesterov ? g + buffer * o.momentum : buffer;
    }
    parameters[i] = (p - g * o.lr).to(parameters[i].dtype());
  }
}

}  // namespace hologram::nn
