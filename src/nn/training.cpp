#include "hologram/nn/training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

#include "hologram/ops.hpp"
#include "nn/before.hpp"
#include "nn/common.hpp"
#include "nn/state_file.hpp"

namespace hologram::nn {

namespace {

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

namespace {

// Scales what the gradients lie in; gives their norm as it was.
Tensor clip(std::vector<Tensor>& scaled, const std::vector<Tensor>& gradients, double max_norm) {
  if (gradients.empty()) return ops::zeros({}, DType::F32);
  std::vector<Tensor> norms;
  norms.reserve(gradients.size());
  for (const Tensor& g : gradients) norms.push_back(ops::norm(g.to(DType::F32)));
  Tensor all = ops::norm(ops::stack(norms));
  // As PyTorch has it: a little less than the bound, and no division by 0.
  const Tensor scale = ops::minimum(max_norm / (all + 1e-6), 1);
  for (Tensor& g : scaled) g = g * scale.to(g.dtype());
  return all;
}

}  // namespace

Tensor clip_by_norm(std::vector<Tensor>& gradients, double max_norm) {
  return clip(gradients, std::vector<Tensor>(gradients), max_norm);
}

Tensor clip_by_norm(const Flat& flat, std::vector<Tensor>& joined, double max_norm) {
  return clip(joined, flat.split(joined), max_norm);
}

// Of the loss times its scale; the value is the loss itself.
ValueAndGradient Optimizer::differentiate(const std::function<Tensor()>& loss) {
  if (!precision) return value_and_gradient(module_, loss);
  Tensor value;
  ValueAndGradient both = value_and_gradient(module_, [&] {
    {
      const Precision in_force(*precision);
      value = loss();
    }
    value = value.to(compute_type(value.dtype()));
    return precision->scale ? value * scaling.scale.to(value.dtype()) : value;
  });
  both.value = stop_gradient(value);
  return both;
}

Optimizer::Before::Before(Optimizer& optimizer)
    : optimizer_(optimizer), scaling_(optimizer.scaling), tensors_(optimizer.module_.parameters()) {
  for (const auto& [name, buffer] : optimizer.module_.named_buffers()) tensors_.push_back(buffer);
  if (Tensor* const count = optimizer.counter(); count != nullptr) tensors_.push_back(count);
  values_ = values_of(tensors_);
  for (const auto& [kind, list] : optimizer.kinds()) lists_.push_back(*list);
}

Optimizer::Before::~Before() {
  if (forgotten_) return;
  for (size_t i = 0; i < tensors_.size(); i++) *tensors_[i] = std::move(values_[i]);
  size_t i = 0;
  for (const auto& [kind, list] : optimizer_.kinds()) *list = std::move(lists_[i++]);
  optimizer_.scaling = scaling_;
}

// What a step changes beside parameters and what there is one a parameter of.
std::vector<Tensor*> Optimizer::others() {
  std::vector<Tensor*> all;
  if (Tensor* const count = counter(); count != nullptr && count->defined()) all.push_back(count);
  if (scaling.scale.defined())
    all.insert(all.end(), {&scaling.scale, &scaling.good, &scaling.skipped});
  for (const auto& [name, buffer] : module_.named_buffers()) all.push_back(buffer);
  return all;
}

// What there is one a parameter of, kind after kind.
std::vector<Tensor> Optimizer::joined_state(const Flat& flat) {
  std::vector<Tensor> all;
  for (const auto& [kind, list] : kinds())
    for (Tensor& t : flat.join(*list)) all.push_back(std::move(t));
  return all;
}

void Optimizer::split_state(const Flat& flat, const std::vector<Tensor>& joined) {
  auto next = joined.begin();
  for (const auto& [kind, list] : kinds()) {
    if (list->empty()) continue;
    const auto end = next + static_cast<std::ptrdiff_t>(flat.size());
    *list = flat.split({next, end});
    next = end;
  }
}

// The rule itself, on joined tensors. If a gradient is not finite, nothing moves.
void Optimizer::move_joined(const Flat& flat, std::vector<Tensor> gradients) {
  const std::vector<Tensor*> parameters = module_.parameters();
  const bool scales = precision && precision->scale && !parameters.empty();
  Tensor finite;
  if (scales) finite = unscale(gradients, scaling);
  if (max_norm > 0) clip_by_norm(flat, gradients, max_norm);
  const std::vector<Tensor> before = flat.join(values_of(parameters));
  std::vector<Tensor> moved = before;
  std::vector<Tensor*> state, places;
  const auto list_state = [&] {
    state.clear();
    for (const auto& [kind, list] : kinds())
      for (Tensor& t : *list) state.push_back(&t);
    if (Tensor* const count = counter(); count != nullptr && count->defined())
      state.push_back(count);
  };
  for (const auto& [kind, list] : kinds()) *list = flat.join(*list);
  list_state();
  const std::vector<Tensor> state_before = values_of(state);
  move(moved, gradients);
  list_state();
  if (scales) {
    for (Tensor& t : moved) places.push_back(&t);
    keep_unless(finite, places, before);
    // What came into being in this step has nothing to go back to.
    keep_unless(finite, state,
                state_before.size() == state.size() ? state_before : std::vector<Tensor>());
    advance(scaling, *precision->scale, finite);
  }
  for (const auto& [kind, list] : kinds()) *list = flat.split(*list);
  const std::vector<Tensor> split = flat.split(moved);
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i] = split[i];
}

// Nothing is computed yet.
Tensor Optimizer::lazy_step(const Flat& flat, const std::function<Tensor()>& loss) {
  const std::vector<Tensor*> parameters = module_.parameters();
  if (precision && precision->scale && !parameters.empty() && !scaling.scale.defined())
    scaling = loss_scale_state(*precision->scale, parameters.front()->executor());
  // Also before the first step, and after others were loaded: bits may follow from where they lie.
  const std::vector<Tensor> joined = flat.split(flat.join(values_of(parameters)));
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i] = joined[i];
  auto [value, gradients] = differentiate(loss);
  move_joined(flat, flat.join(gradients));
  return value;
}

Tensor Optimizer::step(const std::function<Tensor()>& loss) {
  const std::vector<Tensor*> parameters = module_.parameters();
  const Flat flat(values_of(parameters));
  Before before(*this);
  Tensor value = lazy_step(flat, loss);
  std::vector<Tensor> all = flat.join(values_of(parameters));
  for (Tensor& t : joined_state(flat)) all.push_back(std::move(t));
  for (const Tensor* t : others()) all.push_back(*t);
  all.push_back(value);
  eval(all);
  before.forget();
  return value;
}

namespace {

constexpr const char *kModel = "model.", *kOptimizer = "optimizer.";

std::array<std::pair<std::string, Tensor*>, 3> named(LossScaleState& scaling) {
  const std::string name = std::string(kOptimizer) + "loss_scale.";
  return {{{name + "scale", &scaling.scale},
           {name + "good", &scaling.good},
           {name + "skipped", &scaling.skipped}}};
}

}  // namespace

void Optimizer::save(const std::string& path) {
  std::map<std::string, Tensor> state;
  for (const auto& [name, tensor] : module_.state_dict()) state.emplace(kModel + name, tensor);
  const Module::Names parameters = module_.named_parameters();
  for (const auto& [kind, list] : kinds())
    for (size_t i = 0; i < list->size(); i++)
      state.emplace(std::string(kOptimizer) + kind + "." + parameters[i].first, (*list)[i]);
  if (Tensor* const count = counter(); count != nullptr && count->defined())
    state.emplace(std::string(kOptimizer) + "step", *count);
  for (const auto& [name, tensor] : named(scaling))
    if (tensor->defined()) state.emplace(name, *tensor);
  save_state(path, state);
}

void Optimizer::load(const std::string& path) {
  std::map<std::string, Tensor> model, own;
  for (auto& [name, tensor] : load_state(path)) {
    if (name.starts_with(kModel)) model.emplace(name.substr(std::strlen(kModel)), tensor);
    if (name.starts_with(kOptimizer)) own.emplace(name, tensor);
  }
  const Module::Names parameters = module_.named_parameters();
  const auto taken = [&](const std::string& name, const Tensor& like) {
    const auto found = own.find(name);
    if (found == own.end()) throw core::error(Text::NnStateNames, "it has no", name);
    need_shape("load", name.c_str(), found->second, like.shape());
    Tensor value = found->second.to(like.executor());
    own.erase(found);
    return value;
  };
  std::vector<std::vector<Tensor>> lists;
  for (const auto& [kind, list] : kinds()) {
    const std::string prefix = std::string(kOptimizer) + kind + ".";
    const auto next = own.lower_bound(prefix);
    std::vector<Tensor>& values = lists.emplace_back();
    if (next == own.end() || !next->first.starts_with(prefix)) continue;
    for (const auto& [name, parameter] : parameters)
      values.push_back(taken(prefix + name, *parameter));
  }
  const Tensor none =
      ops::zeros({}, DType::F32,
                 parameters.empty() ? default_executor() : parameters.front().second->executor());
  Tensor steps;
  const std::string step_name = std::string(kOptimizer) + "step";
  if (counter() != nullptr && own.contains(step_name)) steps = taken(step_name, none);
  LossScaleState scale;
  for (const auto& [name, tensor] : named(scale))
    if (own.contains(name)) *tensor = taken(name, none);
  if (!own.empty())
    throw core::error(Text::NnStateNames, "the optimizer has no", own.begin()->first);
  module_.load_state_dict(model);
  size_t i = 0;
  for (const auto& [kind, list] : kinds()) *list = std::move(lists[i++]);
  if (Tensor* const count = counter(); count != nullptr) *count = steps;
  scaling = scale;
}

void Adam::move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
  fused_adam_step(parameters, gradients, state, options);
}

std::vector<double> Adam::numbers() const {
  const AdamOptions& o = options;
  return {o.lr,
          o.beta1,
          o.beta2,
          o.eps,
          o.weight_decay,
          o.decoupled ? 1.0 : 0.0,
          o.amsgrad ? 1.0 : 0.0,
          o.maximize ? 1.0 : 0.0};
}

AdamW::AdamW(Module& module, AdamOptions options) : Adam(module, options) {
  this->options.decoupled = true;
}

void Sgd::move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) {
  fused_sgd_step(parameters, gradients, state, options);
}

std::vector<double> Sgd::numbers() const {
  const SgdOptions& o = options;
  return {o.lr,
          o.momentum,
          o.dampening,
          o.weight_decay,
          o.nesterov ? 1.0 : 0.0,
          o.maximize ? 1.0 : 0.0};
}

double cosine_schedule(double lr, int64_t step, int64_t warmup, int64_t total, double least) {
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double done = std::clamp(static_cast<double>(step - warmup) /
                                     static_cast<double>(std::max<int64_t>(1, total - warmup)),
                                 0.0, 1.0);
  return lr * (least + (1 - least) * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

}  // namespace hologram::nn
