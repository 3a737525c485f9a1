// Gradients by the parameters of a module, and optimizers that move them.
//
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   for (const auto& [x, y] : batches)
//     Tensor loss = optimizer.step([&] { return nn::cross_entropy(model(x), y); });
#pragma once

#include <functional>
#include <vector>

#include "hologram/gradient.hpp"
#include "hologram/nn/modules.hpp"
#include "hologram/nn/optimizers.hpp"

namespace hologram::nn {

// What `loss` gives, one number, and its gradient by each parameter of the module, in the order of
// Module::parameters(). Meanwhile the parameters are stand-ins for their values. Errors as of
// hologram::value_and_gradient; the module is as before then.
HOLOGRAM_API ValueAndGradient value_and_gradient(Module& module,
                                                 const std::function<Tensor()>& loss);

// Gradients scaled down together, if the norm of all of them is above `max_norm`; the norm as it
// was, an f32 of no axes. No wait: a lazy tensor.
HOLOGRAM_API Tensor clip_by_norm(std::vector<Tensor>& gradients, double max_norm);

// A rule by which parameters move. It refers to the module, which must outlive it.
class HOLOGRAM_API Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;
  // One step: takes the gradient of what `loss` gives, moves the parameters, and computes the loss,
  // the parameters, the module's buffers and the optimizer's state at once. Gives the loss.
  Tensor step(const std::function<Tensor()>& loss);

  double max_norm = 0;  // gradients beyond it are clipped; 0: none are

 protected:
  explicit Optimizer(Module& module) : module_(module) {}
  virtual void move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) = 0;
  virtual void list_state(std::vector<Tensor>& into) const = 0;

 private:
  Module& module_;
};

class HOLOGRAM_API Adam : public Optimizer {
 public:
  explicit Adam(Module& module, const AdamOptions& options = {})
      : Optimizer(module), options(options) {}
  AdamOptions options;  // may be changed between steps, as a schedule of `lr` does
  AdamState state;

 protected:
  void move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) override;
  void list_state(std::vector<Tensor>& into) const override;
};

// Adam with weight decay beside the gradient.
class HOLOGRAM_API AdamW : public Adam {
 public:
  explicit AdamW(Module& module, AdamOptions options = {.weight_decay = 1e-2});
};

class HOLOGRAM_API Sgd : public Optimizer {
 public:
  explicit Sgd(Module& module, const SgdOptions& options = {})
      : Optimizer(module), options(options) {}
  SgdOptions options;
  SgdState state;

 protected:
  void move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) override;
  void list_state(std::vector<Tensor>& into) const override;
};

// A learning rate that rises in a line over `warmup` steps, and falls by half a cosine to `least`
// of it at step `total`.
HOLOGRAM_API double cosine_schedule(double lr, int64_t step, int64_t warmup, int64_t total,
                                    double least = 0);

}  // namespace hologram::nn
