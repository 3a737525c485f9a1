#include "hologram/nn/captured_step.hpp"

#include <limits>

#include "hologram/ops.hpp"
#include "nn/before.hpp"

namespace hologram::nn {

CapturedStep::CapturedStep(Optimizer& optimizer, Loss loss)
    : optimizer_(optimizer), loss_(std::move(loss)) {}

std::vector<double> CapturedStep::numbers() const {
  std::vector<double> all = optimizer_.numbers();
  all.push_back(optimizer_.max_norm);
  if (const auto& p = optimizer_.precision) {
    all.insert(all.end(), {static_cast<double>(p->compute), static_cast<double>(p->accumulate)});
    if (const auto& s = p->scale)
      all.insert(all.end(), {s->growth, s->backoff, static_cast<double>(s->interval)});
  }
  return all;
}

// Parameters and moments, of which so many are donated, other state, and the batch.
std::vector<Tensor> CapturedStep::inputs(const Flat& flat, const std::vector<Tensor>& batch,
                                         size_t& donated) {
  std::vector<Tensor> all = flat.join(values_of(optimizer_.module_.parameters()));
  for (Tensor& t : optimizer_.joined_state(flat)) all.push_back(std::move(t));
  donated = all.size();
  for (const Tensor* t : optimizer_.others()) all.push_back(*t);
  all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

// Takes what inputs() gives, and what a graph does.
void CapturedStep::assign(const Flat& flat, const std::vector<Tensor*>& parameters,
                          const std::vector<Tensor>& values, size_t donated) {
  const auto first = values.begin(), kinds = first + static_cast<std::ptrdiff_t>(flat.size()),
             rest = first + static_cast<std::ptrdiff_t>(donated);
  const std::vector<Tensor> split = flat.split({first, kinds});
  for (size_t i = 0; i < parameters.size(); i++) *parameters[i] = split[i];
  optimizer_.split_state(flat, {kinds, rest});
  auto next = rest;
  for (Tensor* t : optimizer_.others()) *t = *next++;
}

void CapturedStep::capture(const Flat& flat, const std::vector<Tensor>& inputs, size_t donated) {
  std::vector<Donation> donations;
  for (size_t i = 0; i < donated; i++) donations.push_back({i, i});
  const size_t state = donated + optimizer_.others().size();
  const auto step = [&](const std::vector<Tensor>& given) {
    const Optimizer::Before before(optimizer_);
    assign(flat, optimizer_.module_.parameters(), given, donated);
    const std::vector<Tensor> batch(given.begin() + static_cast<std::ptrdiff_t>(state),
                                    given.end());
    const Tensor value = optimizer_.lazy_step(flat, [&] { return loss_(batch); });
    size_t again = 0;
    return this->inputs(flat, {value}, again);
  };
  graph_.reset();
  graph_.emplace(step, inputs, donations);
  numbers_ = numbers();
}

Tensor CapturedStep::operator()(const std::vector<Tensor>& batch) {
  const std::vector<Tensor*> parameters = optimizer_.module_.parameters();
  if (!began_ || parameters.empty()) {
    Tensor value = optimizer_.step([&] { return loss_(batch); });
    began_ = true;
    return value;
  }
  const Flat flat(values_of(parameters));
  size_t donated = 0;
  std::vector<Tensor> inputs = this->inputs(flat, batch, donated);
  std::vector<std::pair<Shape, DType>> kinds;
  kinds.reserve(inputs.size());
  for (const Tensor& t : inputs) kinds.emplace_back(t.shape(), t.dtype());
  if (!graph_ || numbers_ != numbers() || kinds_ != kinds) {
    capture(flat, inputs, donated);
    kinds_ = kinds;
  }
  graph_->check(inputs);
  // The graph gets the only reference to what is donated.
  std::vector<Tensor> lost;
  for (size_t i = 0; i < donated; i++)
    lost.push_back(ops::full(inputs[i].shape(), std::numeric_limits<double>::quiet_NaN(),
                             inputs[i].dtype(), inputs[i].executor()));
  std::vector<Tensor*> places = parameters;
  for (const auto& [kind, list] : optimizer_.kinds())
    for (Tensor& t : *list) places.push_back(&t);
  for (Tensor* t : places) *t = Tensor();
  try {
    const std::vector<Tensor> results = graph_->launch(std::move(inputs));
    assign(flat, parameters, results, donated);
    return results.back();
  } catch (...) {
    // Nobody is to take it for what was there.
    for (const Tensor* t : optimizer_.others()) lost.push_back(*t);
    assign(flat, parameters, lost, donated);
    throw;
  }
}

}  // namespace hologram::nn
