#include "hologram/nn/activations.hpp"

#include <algorithm>
#include <string>

#include "nn/common.hpp"

namespace hologram::nn {

namespace {

struct Halves {
  Tensor first, second;
};
Halves halves(const char* name, const Tensor& x, int axis) {
  const int k = tensor::checked_axis(name, axis, x.rank());
  const int64_t length = x.size(k);
  if (length % 2 != 0) throw core::error(Text::NnHalves, name, k, length);
  return {x.slice(k, {0, length / 2}), x.slice(k, {length / 2, {}})};
}

// clamp(x, low, high), whose gradient is 0 at both ends.
Tensor between(const Tensor& x, double low, double high) {
  return ops::where(x <= low, low, ops::where(x >= high, high, x));
}

// factor * (x, or alpha * (exp(x * inner) - 1) below 0).
Tensor exponential_unit(const Tensor& x, double alpha, double factor, double inner) {
  return rounded_once(x, [&](const Tensor& wide) {
    // Infinities that are not taken would be NaN in gradients.
    const Tensor below = ops::minimum(wide, 0) * inner;
    return ops::where(wide > 0, wide * factor, ops::expm1(below) * (alpha * factor));
  });
}

}  // namespace

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return relu(x);
    case Activation::Gelu: return gelu(x);
    case Activation::GeluTanh: return gelu(x, Approximate::Tanh);
    case Activation::Silu: return silu(x);
    case Activation::Sigmoid: return sigmoid(x);
    case Activation::Tanh: return tanh(x);
    case Activation::Mish: return mish(x);
  }
  return x;
}

Tensor gelu(const Tensor& x, Approximate approximate) {
  return approximate == Approximate::Tanh ? ops::gelu_tanh(x) : ops::gelu(x);
}
Tensor mish(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return wide * tanh(ops::softplus(wide)); });
}
Tensor hardtanh(const Tensor& x, double low, double high) {
  need(low <= high, "hardtanh", "lower bound", low, "one that is not above the upper bound");
  return between(x.to(float_dtype(x.dtype())), low, high);
}
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardsigmoid(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return between(wide + 3, 0, 6) / 6; });
}
Tensor hardswish(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return wide * ops::clamp(wide + 3, 0, 6) / 6; });
}
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return ops::leaky_relu(x, negative_slope);
}
Tensor prelu(const Tensor& x, const Tensor& weight) {
  const bool one = weight.size() == 1;
  if (!one && (x.rank() < 2 || weight.shape() != Shape{x.size(1)}))
    throw core::error(Text::NnShape, "prelu", "a weight", to_string(weight.shape()),
                      x.rank() < 2 ? "[1]" : "[1] or [" + std::to_string(x.size(1)) + "]");
  const Tensor slopes = one ? weight.reshape({}) : by_channels(weight, x.rank());
  const DType to = promote(float_dtype(x.dtype()), weight.dtype());
  const Tensor wide = x.to(compute_type(to));
  return ops::where(wide > 0, wide, wide * slopes.to(compute_type(to))).to(to);
}
Tensor elu(const Tensor& x, double alpha) { return ops::elu(x, alpha); }
Tensor celu(const Tensor& x, double alpha) {
  need(alpha != 0, "celu", "alpha", alpha, "another number");
  return exponential_unit(x, alpha, 1, 1 / alpha);
}
Tensor selu(const Tensor& x) {
  return exponential_unit(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946,
                          1);
}
Tensor softplus(const Tensor& x, double beta, double threshold) {
  need(beta != 0, "softplus", "beta", beta, "another number");
  return rounded_once(x, [&](const Tensor& wide) {
    const Tensor scaled = wide * beta;
    return ops::where(scaled > threshold, wide, ops::softplus(scaled) / beta);
  });
}
Tensor softsign(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return wide / (1 + ops::abs(wide)); });
}
Tensor logsigmoid(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return -ops::softplus(-wide); });
}
Tensor tanhshrink(const Tensor& x) {
  return rounded_once(x, [](const Tensor& wide) { return wide - tanh(wide); });
}
Tensor hardshrink(const Tensor& x, double lambda) {
  const Tensor real = x.to(float_dtype(x.dtype()));
  return ops::where(ops::abs(real) <= lambda, 0, real);
}
Tensor softshrink(const Tensor& x, double lambda) {
  need(lambda >= 0, "softshrink", "lambda", lambda, "0 or more");
  // What is not beyond either bound is itself minus itself within bounds: 0, or NaN.
  return rounded_once(x,
                      [&](const Tensor& wide) { return wide - ops::clamp(wide, -lambda, lambda); });
}
Tensor threshold(const Tensor& x, double threshold, double value) {
  const Tensor real = x.to(float_dtype(x.dtype()));
  return ops::where(real <= threshold, value, real);
}
Tensor softmin(const Tensor& x, int axis) { return softmax(-x, axis); }

Tensor glu(const Tensor& x, int axis) {
  const Halves half = halves("glu", x, axis);
  return (upcast(half.first) * sigmoid(upcast(half.second))).to(float_dtype(x.dtype()));
}
Tensor swiglu(const Tensor& gate, const Tensor& value) {
  const DType to = promote(float_dtype(gate.dtype()), float_dtype(value.dtype()));
  const DType wide = compute_type(to);
  return (silu(gate.to(wide)) * value.to(wide)).to(to);
}
Tensor swiglu(const Tensor& x, int axis) {
  const Halves half = halves("swiglu", x, axis);
  return swiglu(half.first, half.second);
}

Tensor dropout(const Tensor& x, double p, bool training, bool by_channel) {
  need(p >= 0 && p <= 1, "dropout", "probability", p, "a number from 0 to 1");
  if (!training || p == 0) return x;
  const DType to = float_dtype(x.dtype());
  if (p == 1) return ops::zeros(x.shape(), to, x.executor());
  Shape shape = x.shape();
  if (by_channel) {
    if (x.rank() < 2)
      throw core::error(Text::NnRank, "dropout", to_string(shape), "batch, channels, …");
    std::fill(shape.begin() + 2, shape.end(), 1);
  }
  const Tensor kept = ops::rand(std::move(shape), DType::F32, x.executor()) >= p;
  return ops::where(kept, upcast(x) * (1 / (1 - p)), 0).to(to);
}

}  // namespace hologram::nn
