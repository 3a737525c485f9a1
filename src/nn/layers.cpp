#include <cmath>
#include <string>

#include "hologram/nn/embedding.hpp"
#include "hologram/nn/modules.hpp"
#include "hologram/nn/normalization.hpp"
#include "nn/common.hpp"

namespace hologram::nn {

namespace {

Executor executor_of(const LayerOptions& options) {
  return options.executor ? *options.executor : default_executor();
}
// Uniform in (-bound, bound).
Tensor uniform(Shape shape, double bound, const LayerOptions& options) {
  const Tensor unit = ops::rand(std::move(shape), wide_dtype(options.dtype), executor_of(options));
  return ((unit * 2 - 1) * bound).to(options.dtype);
}
double bound_of(int64_t inputs) {
  return inputs > 0 ? 1 / std::sqrt(static_cast<double>(inputs)) : 0;
}
Tensor filled(Shape shape, int value, const LayerOptions& options) {
  return ops::full(std::move(shape), value, options.dtype, executor_of(options));
}
std::optional<Tensor> present(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Tensor>(tensor) : std::nullopt;
}

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, const LayerOptions& options) {
  weight = uniform({out_features, in_features}, bound_of(in_features), options);
  if (options.bias) bias = uniform({out_features}, bound_of(in_features), options);
  register_parameters({{"weight", &weight}, {"bias", &bias}});
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, present(bias)); }

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, const PerAxis<2>& kernel,
               const ConvOptions<2>& conv, const LayerOptions& options)
    : conv_(conv) {
  need(conv.groups >= 1 && in_channels % conv.groups == 0, "Conv2d", "number of groups",
       static_cast<double>(conv.groups), "a number that divides that of the channels");
  const Shape shape = {out_channels, in_channels / conv.groups, kernel[0], kernel[1]};
  const double bound = bound_of(shape[1] * shape[2] * shape[3]);
  weight = uniform(shape, bound, options);
  if (options.bias) bias = uniform({out_channels}, bound, options);
  register_parameters({{"weight", &weight}, {"bias", &bias}});
}
Tensor Conv2d::forward(const Tensor& x) {
  ConvOptions<2> options = conv_;
  options.bias = present(bias);
  return conv2d(x, weight, options);
}

BatchNorm2d::BatchNorm2d(int64_t num_features, double eps, std::optional<double> momentum,
                         const LayerOptions& options)
    : eps_(eps), momentum_(momentum) {
  weight = running_var = filled({num_features}, 1, options);
  running_mean = filled({num_features}, 0, options);
  if (options.bias) bias = running_mean;
  num_batches_tracked = ops::zeros({}, DType::I64, executor_of(options));
  register_parameters({{"weight", &weight}, {"bias", &bias}});
  register_buffers({{"running_mean", &running_mean},
                    {"running_var", &running_var},
                    {"num_batches_tracked", &num_batches_tracked}});
}
Tensor BatchNorm2d::forward(const Tensor& x) {
  BatchNormOptions options = {.weight = present(weight),
                              .bias = present(bias),
                              .training = is_training(),
                              .momentum = momentum_.value_or(0),
                              .eps = eps_};
  if (!is_training()) return batch_norm(x, running_mean, running_var, options).output;
  const Tensor count = num_batches_tracked + 1;
  // The mean so far: the batch's statistics themselves, and then a share of them.
  if (!momentum_) options.momentum = 1;
  const BatchNorm done = batch_norm(x, running_mean, running_var, options);
  if (momentum_) {
    running_mean = done.running_mean;
    running_var = done.running_var;
  } else {
    const Tensor share = ops::reciprocal(count.to(wide_dtype(running_mean.dtype())));
    const auto toward = [&](const Tensor& old, const Tensor& now) {
      return (upcast(old) * (1 - share) + upcast(now) * share).to(old.dtype());
    };
    running_mean = toward(running_mean, done.running_mean);
    running_var = toward(running_var, done.running_var);
  }
  num_batches_tracked = count;
  return done.output;
}

LayerNorm::LayerNorm(Shape normalized_shape, double eps, const LayerOptions& options)
    : shape_(std::move(normalized_shape)), eps_(eps) {
  weight = filled(shape_, 1, options);
  if (options.bias) bias = filled(shape_, 0, options);
  register_parameters({{"weight", &weight}, {"bias", &bias}});
}
Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, shape_, {.weight = weight, .bias = present(bias), .eps = eps_});
}

RMSNorm::RMSNorm(Shape normalized_shape, std::optional<double> eps, const LayerOptions& options)
    : shape_(std::move(normalized_shape)), eps_(eps) {
  weight = filled(shape_, 1, options);
  register_parameters({{"weight", &weight}});
}
Tensor RMSNorm::forward(const Tensor& x) { return rms_norm(x, shape_, weight, eps_); }

Embedding::Embedding(int64_t rows, int64_t features, std::optional<int64_t> padding_idx,
                     const LayerOptions& options)
    : padding_idx_(padding_idx) {
  const Executor executor = executor_of(options);
  weight = ops::randn({rows, features}, options.dtype, executor);
  if (padding_idx) {
    need(*padding_idx >= -rows && *padding_idx < rows, "Embedding", "padding index",
         static_cast<double>(*padding_idx), "one of a row, which may count from the end");
    const int64_t row = (*padding_idx + rows) % rows;
    weight = ops::put(weight, {{row, row + 1}}, 0);
  }
  register_parameters({{"weight", &weight}});
}
Tensor Embedding::forward(const Tensor& indices) {
  return embedding(indices, weight, padding_idx_);
}

Tensor Dropout::forward(const Tensor& x) { return dropout(x, p_, is_training()); }

Sequential& Sequential::add(std::unique_ptr<Module> module) {
  register_module(std::to_string(list_.size()), module.get());
  list_.push_back(std::move(module));
  return *this;
}
Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const auto& module : list_) y = module->forward(y);
  return y;
}

MultiheadAttention::MultiheadAttention(int64_t features, int64_t heads,
                                       const MultiheadAttentionOptions& options)
    : out_proj(features, features, options.layer), heads_(heads), options_(options) {
  need(heads >= 1 && features % heads == 0, "MultiheadAttention", "number of heads",
       static_cast<double>(heads), "a number that divides that of the features");
  // Glorot's bound for a matrix [3 * features, features]; biases begin at 0.
  in_proj_weight = uniform({3 * features, features},
                           std::sqrt(6.0 / (4 * static_cast<double>(features))), options.layer);
  if (options.layer.bias) {
    in_proj_bias = filled({3 * features}, 0, options.layer);
    out_proj.bias = filled({features}, 0, options.layer);
  }
  register_parameters({{"in_proj_weight", &in_proj_weight}, {"in_proj_bias", &in_proj_bias}});
  register_modules({{"out_proj", &out_proj}});
}

Tensor MultiheadAttention::forward(const Tensor& x) { return attend(x, x, x); }

Tensor MultiheadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionOptions& options) {
  const int64_t features = in_proj_weight.size(1);
  const auto projected = [&](const Tensor& x, int64_t part) {
    if (x.rank() < 2 || x.rank() > 3)
      throw core::error(Text::NnRank, "MultiheadAttention", to_string(x.shape()),
                        "batch, length, features");
    const Slice rows = {part * features, (part + 1) * features};
    std::optional<Tensor> bias;
    if (in_proj_bias.defined()) bias = in_proj_bias.slice(0, rows);
    const Tensor y = linear(x, in_proj_weight.slice(0, rows), bias);
    // [batch, length, heads, features of one] with the heads before the length.
    const bool turned = y.rank() == 3 && !options_.batch_first;
    const Tensor batch_first = turned ? y.transpose(0, 1) : y;
    Shape shape = batch_first.shape();
    shape.back() = heads_;
    shape.push_back(features / heads_);
    return batch_first.reshape(std::move(shape)).transpose(-2, -3);
  };
  AttentionOptions used = options;
  used.dropout_p = is_training() ? options_.dropout : 0;
  const Tensor each = scaled_dot_product_attention(projected(query, 0), projected(key, 1),
                                                   projected(value, 2), used)
                          .transpose(-2, -3);
  Tensor y = each.flatten(-2, -1);
  if (y.rank() == 3 && !options_.batch_first) y = y.transpose(0, 1);
  return out_proj(y);
}

}  // namespace hologram::nn
