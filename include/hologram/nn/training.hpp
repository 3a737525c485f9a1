// Gradients by the parameters of a module, and optimizers that move them.
//
//   nn::AdamW optimizer(model, {.lr = 1e-3});
//   for (const auto& [x, y] : batches)
//     Tensor loss = optimizer.step([&] { return nn::cross_entropy(model(x), y); });
//
// After a step the parameters of one dtype are views of one tensor, and so are their moments: one
// launch moves all of them (hologram/nn/flat.hpp).
#pragma once

#include <functional>
#include <vector>

#include "hologram/gradient.hpp"
#include "hologram/nn/flat.hpp"
#include "hologram/nn/mixed_precision.hpp"
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
// The same of joined gradients: the norm is that of the tensors that they were joined of.
HOLOGRAM_API Tensor clip_by_norm(const Flat& flat, std::vector<Tensor>& joined, double max_norm);

// A rule by which parameters move. It refers to the module, which must outlive it.
class HOLOGRAM_API Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;
  // One step: takes the gradient of what `loss` gives, moves the parameters, and computes the loss,
  // the parameters, the module's buffers and the optimizer's state at once. Gives the loss.
  Tensor step(const std::function<Tensor()>& loss);

  // Parameters, buffers, the optimizer's state and its scale as one .safetensors file, which
  // appears as a whole or not at all: "model.0.weight", "optimizer.exp_avg.0.weight". A training
  // that goes on from there gives the bits that it would have given. Nothing is changed unless all
  // is right: errors as of Module::load, InvalidArgument for the state of another optimizer.
  void save(const std::string& path);
  void load(const std::string& path);

  double max_norm = 0;  // gradients beyond it are clipped; 0: none are
  // None: everything as the dtypes of parameters and inputs say.
  std::optional<MixedPrecision> precision;
  LossScaleState scaling;  // undefined before the first step, and without a scale

 protected:
  explicit Optimizer(Module& module) : module_(module) {}
  // Of joined parameters, whose state is joined as well.
  virtual void move(std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients) = 0;
  // What a captured step would hold as constants.
  virtual std::vector<double> numbers() const = 0;
  // The kinds of tensors that there are one a parameter of, and the number of steps, if it counts.
  using Kinds = std::vector<std::pair<const char*, std::vector<Tensor>*>>;
  virtual Kinds kinds() = 0;
  virtual Tensor* counter() { return nullptr; }

 private:
  friend class CapturedStep;
  class Before;
  ValueAndGradient differentiate(const std::function<Tensor()>& loss);
  Tensor lazy_step(const Flat& flat, const std::function<Tensor()>& loss);
  void move_joined(const Flat& flat, std::vector<Tensor> gradients);
  std::vector<Tensor> joined_state(const Flat& flat);
  void split_state(const Flat& flat, const std::vector<Tensor>& joined);
  std::vector<Tensor*> others();

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
  std::vector<double> numbers() const override;
  Kinds kinds() override {
    return {{"exp_avg", &state.exp_avg},
            {"exp_avg_sq", &state.exp_avg_sq},
            {"max_exp_avg_sq", &state.max_exp_avg_sq}};
  }
  Tensor* counter() override { return &state.step; }
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
  std::vector<double> numbers() const override;
  Kinds kinds() override { return {{"momentum_buffer", &state.momentum_buffer}}; }
};

// A learning rate that rises in a line over `warmup` steps, and falls by half a cosine to `least`
// of it at step `total`.
HOLOGRAM_API double cosine_schedule(double lr, int64_t step, int64_t warmup, int64_t total,
                                    double least = 0);

}  // namespace hologram::nn
