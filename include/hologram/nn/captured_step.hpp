// Steps of an optimizer as launches of one graph.
//
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   nn::CapturedStep step(optimizer, [&](const std::vector<Tensor>& batch) {
//     return nn::cross_entropy(model(batch[0]), batch[1]);
//   });
//   for (const auto& [x, y] : batches) Tensor loss = step({x, y});
#pragma once

#include <optional>

#include "hologram/graph.hpp"
#include "hologram/nn/training.hpp"

namespace hologram::nn {

// Forward, backward and update, as Optimizer::step does them, with the same bits. The first call is
// such a step, in which state comes into being; the second captures the graph. From then on nothing
// is built or scheduled, and parameters and moments are donated: each new one lies in the memory of
// the one before. Whoever holds an old one, as a copy of state_dict, makes that a copy, which
// counts as a fallback. Numbers of the optimizer, as `lr`, are constants of the graph: where one
// has changed, or a shape or dtype of the batch, the step is captured once more. Random numbers are
// drawn anew by each launch.
class HOLOGRAM_API CapturedStep {
 public:
  // The loss of a batch; whatever else it refers to but the module is a constant.
  using Loss = std::function<Tensor(const std::vector<Tensor>& batch)>;
  CapturedStep(Optimizer& optimizer, Loss loss);  // the optimizer must outlive it

  // Gives the loss, computed. Errors of Optimizer::step and Graph; everything is as before then.
  // But if a launch fails that has begun, parameters and moments are NaN: load the last checkpoint.
  Tensor operator()(const std::vector<Tensor>& batch);

  // That of the calls since the second; none before, and where there are no parameters.
  const Graph* graph() const { return graph_ ? &*graph_ : nullptr; }

 private:
  std::vector<double> numbers() const;
  void capture(const Flat& flat, const std::vector<Tensor>& inputs, size_t donated);
  std::vector<Tensor> inputs(const Flat& flat, const std::vector<Tensor>& batch, size_t& donated);
  void assign(const Flat& flat, const std::vector<Tensor*>& parameters,
              const std::vector<Tensor>& values, size_t donated);

  Optimizer& optimizer_;
  Loss loss_;
  bool began_ = false;
  std::optional<Graph> graph_;
  std::vector<double> numbers_;  // that the graph was captured with
  std::vector<std::pair<Shape, DType>> kinds_;
};

}  // namespace hologram::nn
