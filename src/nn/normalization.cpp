#include "hologram/nn/normalization.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// With mean 0 and variance 1 along the axes.
Tensor standardized(const Tensor& x, const ops::Axes& axes, double eps) {
  return (x - ops::mean(x, axes, true)) * ops::rsqrt(ops::var(x, axes, 0, true) + eps);
}

// Mean and variance of each channel, [1, channels, 1, …]: of each image by itself, in one walk over
// it while it is in the caches, and then of all of them together.
std::pair<Tensor, Tensor> statistics_of(const Tensor& x, int64_t count) {
  const int64_t batch = x.size(0), channels = x.size(1), each = count / batch;
  const auto length = static_cast<double>(each), n = static_cast<double>(count);
  const Tensor images = x.reshape({batch, channels, each});
  const Tensor means = ops::sum(images, 2, true) / length;
  const Tensor squares = ops::sum(ops::square(images - means), 2, true);
  const Tensor mean = ops::sum(means, 0, true) / static_cast<double>(batch);
  const Tensor apart = ops::square(means - mean) * length;
  const Tensor var = ops::sum(squares + apart, 0, true) / n;
  return {by_channels(mean, x.rank()), by_channels(var, x.rank())};
}

// x * weight + bias, which are as they are repeated to x.
Tensor scaled(Tensor x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  if (weight) x = x * weight->to(x.dtype());
  if (bias) x = x + bias->to(x.dtype());
  return x;
}
std::optional<Tensor> channels_of(const std::optional<Tensor>& vector, int rank) {
  if (!vector) return {};
  return by_channels(*vector, rank);
}

void need_channels(const char* name, const Tensor& x) {
  if (x.rank() < 2)
    throw core::error(Text::NnRank, name, to_string(x.shape()), "batch, channels, …");
}

// How many of the last axes have the lengths of the normalised shape.
int normalised_axes(const char* name, const Tensor& x, const Shape& shape) {
  const auto count = static_cast<int64_t>(shape.size());
  if (shape.empty() || count > x.rank() ||
      !std::equal(shape.begin(), shape.end(), x.shape().end() - count))
    throw core::error(Text::NnRank, name, to_string(x.shape()),
                      "…, and then those of the normalised shape " + to_string(shape));
  return static_cast<int>(count);
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x1p-10;
    case DType::BF16: return 0x1p-7;
    case DType::F64: return 0x1p-52;
    default: return 0x1p-23;
  }
}

// |x|_p along axes that stay.
Tensor length(const Tensor& x, double p, int axis, bool keepdims) {
  // Of order 0: how many differ from 0.
  if (p == 0) return ops::sum((x != 0).to(x.dtype()), axis, keepdims);
  return ops::norm(x, p, axis, keepdims);
}

}  // namespace

BatchNorm batch_norm(const Tensor& x, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, const BatchNormOptions& options) {
  constexpr const char* kName = "batch_norm";
  need_channels(kName, x);
  const int64_t channels = x.size(1);
  need_shape(kName, "running mean", running_mean, {channels});
  need_shape(kName, "running variance", running_var, {channels});
  need_shape(kName, "a weight", options.weight, {channels});
  need_shape(kName, "a bias", options.bias, {channels});
  if (running_mean.has_value() != running_var.has_value())
    throw core::error(Text::NnMissing, kName,
                      running_mean ? "the running variance" : "the running mean",
                      "Give both, or neither.");
  const Tensor wide = upcast(x);
  BatchNorm result = {{}, running_mean.value_or(Tensor()), running_var.value_or(Tensor())};
  Tensor mean, var;
  if (options.training) {
    const int64_t count = channels == 0 ? 0 : x.size() / channels;
    if (count < 2) throw core::error(Text::NnOnePerChannel, kName, count, to_string(x.shape()));
    std::tie(mean, var) = statistics_of(wide, count);
    if (running_mean) {
      const auto updated = [&](const Tensor& old, const Tensor& batch) {
        const Tensor previous = upcast(old);
        return (previous * (1 - options.momentum) +
                batch.reshape({channels}).to(previous.dtype()) * options.momentum)
            .to(old.dtype());
      };
      const auto n = static_cast<double>(count);
      result.running_mean = updated(*running_mean, mean);
      result.running_var = updated(*running_var, var * (n / (n - 1)));
    }
  } else {
    if (!running_mean)
      throw core::error(Text::NnMissing, kName, "the running mean and variance",
                        "Give them, or set training.");
    mean = by_channels(*running_mean, x.rank()).to(wide.dtype());
    var = by_channels(*running_var, x.rank()).to(wide.dtype());
  }
  result.output = scaled((wide - mean) * ops::rsqrt(var + options.eps),
                         channels_of(options.weight, x.rank()), channels_of(options.bias, x.rank()))
                      .to(float_dtype(x.dtype()));
  return result;
}

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const LayerNormOptions& options) {
  const int count = normalised_axes("layer_norm", x, normalized_shape);
  need_shape("layer_norm", "a weight", options.weight, normalized_shape);
  need_shape("layer_norm", "a bias", options.bias, normalized_shape);
  return rounded_once(x, [&](const Tensor& wide) {
    return scaled(standardized(wide, axes_from(x.rank() - count, x.rank()), options.eps),
                  options.weight, options.bias);
  });
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps) {
  const int count = normalised_axes("rms_norm", x, normalized_shape);
  need_shape("rms_norm", "a weight", weight, normalized_shape);
  return rounded_once(x, [&](const Tensor& wide) {
    const Tensor mean = ops::mean(ops::square(wide), axes_from(x.rank() - count, x.rank()), true);
    return scaled(wide * ops::rsqrt(mean + eps.value_or(epsilon_of(x.dtype()))), weight, {});
  });
}
Tensor rmsnorm(const Tensor& x, const Tensor& weight, double eps) {
  return rms_norm(x, weight.shape(), weight, eps);
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const GroupNormOptions& options) {
  constexpr const char* kName = "group_norm";
  need_channels(kName, x);
  const int64_t batch = x.size(0), channels = x.size(1);
  need(num_groups >= 1 && channels % num_groups == 0, kName, "number of groups",
       static_cast<double>(num_groups), "a number that divides that of the channels");
  need_shape(kName, "a weight", options.weight, {channels});
  need_shape(kName, "a bias", options.bias, {channels});
  return rounded_once(x, [&](const Tensor& wide) {
    const int64_t each = x.size() == 0 ? 0 : x.size() / (batch * num_groups);
    const Tensor groups = wide.reshape({batch, num_groups, each});
    return scaled(standardized(groups, 2, options.eps).reshape(x.shape()),
                  channels_of(options.weight, x.rank()), channels_of(options.bias, x.rank()));
  });
}

Tensor instance_norm(const Tensor& x, const InstanceNormOptions& options) {
  constexpr const char* kName = "instance_norm";
  if (x.rank() < 3)
    throw core::error(Text::NnRank, kName, to_string(x.shape()), "batch, channels, …");
  if (!options.use_input_stats)
    return batch_norm(x, options.running_mean, options.running_var,
                      {.weight = options.weight, .bias = options.bias, .eps = options.eps})
        .output;
  const int64_t channels = x.size(1);
  need_shape(kName, "a weight", options.weight, {channels});
  need_shape(kName, "a bias", options.bias, {channels});
  const ops::Axes axes = axes_from(2, x.rank());
  int64_t count = 1;
  for (const int axis : axes.list) count *= x.size(axis);
  if (count < 2) throw core::error(Text::NnOnePerChannel, kName, count, to_string(x.shape()));
  return rounded_once(x, [&](const Tensor& wide) {
    return scaled(standardized(wide, axes, options.eps), channels_of(options.weight, x.rank()),
                  channels_of(options.bias, x.rank()));
  });
}

Tensor local_response_norm(const Tensor& x, int64_t size, const LocalResponseNormOptions& options) {
  constexpr const char* kName = "local_response_norm";
  if (x.rank() < 3)
    throw core::error(Text::NnRank, kName, to_string(x.shape()), "batch, channels, …");
  need(size >= 1 && size <= 1 << 16, kName, "size", static_cast<double>(size),
       "a number from 1 to 65536");
  return rounded_once(x, [&](const Tensor& wide) {
    std::vector<ops::Padding> sides(static_cast<size_t>(x.rank()));
    sides[1] = {size / 2, (size - 1) / 2};
    const Tensor squares = ops::pad(ops::square(wide), sides);
    Tensor sum;
    for (int64_t i = 0; i < size; i++) {
      const Tensor part = squares.slice(1, {i, i + x.size(1)});
      sum = sum.defined() ? sum + part : part;
    }
    const Tensor mean = sum / static_cast<double>(size);
    return wide / ops::pow(mean * options.alpha + options.k, options.beta);
  });
}

Tensor normalize(const Tensor& x, double p, int axis, double eps) {
  return rounded_once(
      x, [&](const Tensor& wide) { return wide / ops::maximum(length(wide, p, axis, true), eps); });
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int axis, double eps) {
  const DType to = float_dtype(promote(a.dtype(), b.dtype())), wide = compute_type(to);
  const auto unit = [&](const Tensor& x) {
    return x / ops::maximum(length(x, 2, axis, true), eps);
  };
  // Repeated first, as an axis may count from the end.
  const Shape shape = tensor::broadcast_shape("cosine_similarity", a.shape(), b.shape());
  return ops::sum(unit(a.to(wide).broadcast_to(shape)) * unit(b.to(wide).broadcast_to(shape)), axis)
      .to(to);
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdims) {
  const DType to = float_dtype(promote(a.dtype(), b.dtype())), wide = compute_type(to);
  return length(a.to(wide) - b.to(wide) + eps, p, -1, keepdims).to(to);
}

}  // namespace hologram::nn
