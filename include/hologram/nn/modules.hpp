// Layers and models: tensors with names, and a function of them.
//
//   struct Classifier : nn::Module {
//     nn::Linear first{784, 128}, second{128, 10};
//     Classifier() { register_modules({{"first", &first}, {"second", &second}}); }
//     Tensor forward(const Tensor& x) override { return second(nn::relu(first(x))); }
//   };
//
// Names, shapes, defaults and initial values are PyTorch's, so that a state that PyTorch saved as
// safetensors loads, and the other way round.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hologram/nn/attention.hpp"
#include "hologram/nn/convolution.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/tensor.hpp"

namespace hologram::nn {

// Modules stay where they are: others point to them and to their tensors.
class HOLOGRAM_API Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  virtual Tensor forward(const Tensor& x) = 0;
  Tensor operator()(const Tensor& x) { return forward(x); }

  // Tensors by the names of the modules on the way to them: "layer1.0.weight". Parameters learn,
  // buffers do not. In the order in which they were registered.
  using Names = std::vector<std::pair<std::string, Tensor*>>;
  Names named_parameters();
  Names named_buffers();
  std::vector<Tensor*> parameters();

  // All of them; and their values from there, in the dtypes and on the executors that they have
  // here. Nothing is changed unless all is right: InvalidArgument for names that are missing, or if
  // `strict` not known; ShapeMismatch.
  std::map<std::string, Tensor> state_dict();
  void load_state_dict(const std::map<std::string, Tensor>& state, bool strict = true);
  // The same as a .safetensors file, which appears as a whole or not at all.
  void save(const std::string& path);
  void load(const std::string& path, bool strict = true);

  // Whether dropout drops and batches are normalised by themselves; of all modules inside, too.
  void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }

 protected:
  // An undefined tensor is not there: a layer without a bias.
  void register_parameters(std::initializer_list<std::pair<const char*, Tensor*>> tensors);
  void register_buffers(std::initializer_list<std::pair<const char*, Tensor*>> tensors);
  void register_modules(std::initializer_list<std::pair<const char*, Module*>> modules);
  void register_module(std::string name, Module* module);

 private:
  using List = std::vector<std::pair<std::string, Tensor*>>;
  void collect(const std::string& prefix, List Module::*list, Names& into);

  List parameters_, buffers_;
  std::vector<std::pair<std::string, Module*>> modules_;
  bool training_ = true;
};

// Of new parameters.
struct LayerOptions {
  bool bias = true;
  DType dtype = DType::F32;
  std::optional<Executor> executor = {};  // the default one
};

// weight [out, in] and bias [out], uniform within 1 / sqrt(in).
class HOLOGRAM_API Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, const LayerOptions& options = {});
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;
};

// weight [out, in / groups, height, width] and bias [out]. `conv.bias` is not looked at.
class HOLOGRAM_API Conv2d : public Module {
 public:
  Conv2d(int64_t in_channels, int64_t out_channels, const PerAxis<2>& kernel,
         const ConvOptions<2>& conv = {}, const LayerOptions& options = {});
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  ConvOptions<2> conv_;
};

// Of [batch, channels, …]. In training the running statistics follow those of the batches; without
// a momentum they are their mean so far.
class HOLOGRAM_API BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t num_features, double eps = 1e-5,
                       std::optional<double> momentum = 0.1, const LayerOptions& options = {});
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  double eps_;
  std::optional<double> momentum_;
};

class HOLOGRAM_API LayerNorm : public Module {
 public:
  explicit LayerNorm(Shape normalized_shape, double eps = 1e-5, const LayerOptions& options = {});
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  Shape shape_;
  double eps_;
};

class HOLOGRAM_API RMSNorm : public Module {
 public:
  explicit RMSNorm(Shape normalized_shape, std::optional<double> eps = {},
                   const LayerOptions& options = {});
  Tensor forward(const Tensor& x) override;
  Tensor weight;

 private:
  Shape shape_;
  std::optional<double> eps_;
};

// weight [rows, features], normal of variance 1; the row of `padding_idx` is 0.
class HOLOGRAM_API Embedding : public Module {
 public:
  Embedding(int64_t rows, int64_t features, std::optional<int64_t> padding_idx = {},
            const LayerOptions& options = {});
  Tensor forward(const Tensor& indices) override;
  Tensor weight;

 private:
  std::optional<int64_t> padding_idx_;
};

class HOLOGRAM_API Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(p) {}
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};

// ReLU, GELU, …: an activation as a module.
class HOLOGRAM_API Activated : public Module {
 public:
  explicit Activated(Activation activation) : activation_(activation) {}
  Tensor forward(const Tensor& x) override { return activate(x, activation_); }

 private:
  Activation activation_;
};

// Axes from `first` to `last` as one.
class HOLOGRAM_API Flatten : public Module {
 public:
  explicit Flatten(int first = 1, int last = -1) : first_(first), last_(last) {}
  Tensor forward(const Tensor& x) override { return x.flatten(first_, last_); }

 private:
  int first_, last_;
};

// One after the other; their names are "0", "1", …
//
//   nn::Sequential model;
//   model.add<nn::Linear>(784, 128).add<nn::Activated>(nn::Activation::Relu).add<nn::Linear>(128,
//   10);
class HOLOGRAM_API Sequential : public Module {
 public:
  template <class M, class... Arguments>
  Sequential& add(Arguments&&... arguments) {
    return add(std::make_unique<M>(std::forward<Arguments>(arguments)...));
  }
  Sequential& add(std::unique_ptr<Module> module);
  Tensor forward(const Tensor& x) override;
  size_t size() const { return list_.size(); }
  Module& operator[](size_t i) { return *list_.at(i); }

 private:
  std::vector<std::unique_ptr<Module>> list_;
};

struct MultiheadAttentionOptions {
  double dropout = 0;
  bool batch_first = false;  // [batch, length, features]; else [length, batch, features]
  LayerOptions layer = {};
};
// in_proj_weight [3 * features, features], in_proj_bias, out_proj.weight and out_proj.bias.
class HOLOGRAM_API MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t features, int64_t heads,
                     const MultiheadAttentionOptions& options = {});
  // Of x with itself.
  Tensor forward(const Tensor& x) override;
  // Options as scaled_dot_product_attention has them; their mask is repeated to [batch, heads,
  // queries, keys], and true where a key may be seen. PyTorch's modules have that the other way.
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionOptions& options = {});
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;

 private:
  int64_t heads_;
  MultiheadAttentionOptions options_;
};

}  // namespace hologram::nn
