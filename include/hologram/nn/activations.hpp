// Activation functions.
#pragma once

#include "hologram/elementwise.hpp"
#include "hologram/reductions.hpp"

namespace hologram::nn {

using ops::log_softmax;  // (x, axis = -1)
using ops::relu;
using ops::sigmoid;
using ops::silu;
using ops::softmax;  // (x, axis = -1)
using ops::tanh;

// Activations that layers name: of linear() and of modules.
enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh, Silu, Sigmoid, Tanh, Mish };
HOLOGRAM_API Tensor activate(const Tensor& x, Activation activation);

// x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh.
enum class Approximate : uint8_t { None, Tanh };
HOLOGRAM_API Tensor gelu(const Tensor& x, Approximate approximate = Approximate::None);
// x * tanh(softplus(x)).
HOLOGRAM_API Tensor mish(const Tensor& x);
// clamp(x, low, high); InvalidArgument unless low <= high.
HOLOGRAM_API Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
// clamp(x, 0, 6).
HOLOGRAM_API Tensor relu6(const Tensor& x);
// relu6(x + 3) / 6, and x times that.
HOLOGRAM_API Tensor hardsigmoid(const Tensor& x);
HOLOGRAM_API Tensor hardswish(const Tensor& x);
// x, or negative_slope * x below 0.
HOLOGRAM_API Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
// The same with slopes that are learned: one, or one a channel, which is axis 1 (of a vector: one).
HOLOGRAM_API Tensor prelu(const Tensor& x, const Tensor& weight);
// x, or alpha * (exp(x) - 1) below 0.
HOLOGRAM_API Tensor elu(const Tensor& x, double alpha = 1);
// x, or alpha * (exp(x / alpha) - 1) below 0; InvalidArgument for an alpha of 0.
HOLOGRAM_API Tensor celu(const Tensor& x, double alpha = 1);
// scale * elu(x, alpha) with the two constants of Klambauer et al. (2017).
HOLOGRAM_API Tensor selu(const Tensor& x);
// log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
HOLOGRAM_API Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
// x / (1 + |x|).
HOLOGRAM_API Tensor softsign(const Tensor& x);
// log(sigmoid(x)).
HOLOGRAM_API Tensor logsigmoid(const Tensor& x);
// x - tanh(x).
HOLOGRAM_API Tensor tanhshrink(const Tensor& x);
// 0 where |x| <= lambda; x elsewhere, or what of x lies beyond lambda.
HOLOGRAM_API Tensor hardshrink(const Tensor& x, double lambda = 0.5);
HOLOGRAM_API Tensor softshrink(const Tensor& x, double lambda = 0.5);
// x where it is above the threshold, else the value.
HOLOGRAM_API Tensor threshold(const Tensor& x, double threshold, double value);
// softmax(-x).
HOLOGRAM_API Tensor softmin(const Tensor& x, int axis = -1);

// Gates. Of one tensor: a is the first half along an axis, b the second; ShapeMismatch for an odd
// length. glu: a * sigmoid(b). swiglu: silu(gate) * value, as in Llama.
HOLOGRAM_API Tensor glu(const Tensor& x, int axis = -1);
HOLOGRAM_API Tensor swiglu(const Tensor& gate, const Tensor& value);
HOLOGRAM_API Tensor swiglu(const Tensor& x, int axis = -1);

// Each element 0 with probability p, else divided by 1 - p; x itself unless training. dropout1d,
// 2d, 3d in PyTorch: `by_channel`, which drops whole channels, axis 1. The random numbers are those
// of ops::rand.
HOLOGRAM_API Tensor dropout(const Tensor& x, double p = 0.5, bool training = true,
                            bool by_channel = false);

}  // namespace hologram::nn
