// Activation functions and dropout.
#include "nn.hpp"

namespace hologram::python {
namespace {

struct Plain {
  const char* name;
  Tensor (*function)(const Tensor&);
  const char* meaning;
};
constexpr Plain kPlain[] = {
    {"mish", nn::mish, "x * tanh(softplus(x))."},
    {"relu6", nn::relu6, "clip(x, 0, 6)."},
    {"hardsigmoid", nn::hardsigmoid, "relu6(x + 3) / 6."},
    {"hardswish", nn::hardswish, "x * relu6(x + 3) / 6."},
    {"selu", nn::selu, "scale * elu(x, alpha) with the constants of self-normalising networks."},
    {"softsign", nn::softsign, "x / (1 + |x|)."},
    {"logsigmoid", nn::logsigmoid, "log(sigmoid(x))."},
    {"tanhshrink", nn::tanhshrink, "x - tanh(x)."}};

}  // namespace

void register_activations(nb::module_& m) {
  for (const Plain& row : kPlain) m.def(row.name, row.function, "x"_a, row.meaning);
  m.def("gelu", nn::gelu, "x"_a, nb::kw_only(), "approximate"_a = "none",
        "x / 2 * (1 + erf(x / sqrt(2))), or its approximation by 'tanh'.");
  m.def("hardtanh", nn::hardtanh, "x"_a, "min_val"_a = -1.0, "max_val"_a = 1.0,
        "clip(x, min_val, max_val).");
  m.def("leaky_relu", nn::leaky_relu, "x"_a, "negative_slope"_a = 0.01,
        "x, or negative_slope * x below 0.");
  m.def("prelu", nn::prelu, "x"_a, "weight"_a,
        "The same with slopes that are learned: one, or one a channel, axis 1.");
  m.def("elu", nn::elu, "x"_a, "alpha"_a = 1.0, "x, or alpha * (exp(x) - 1) below 0.");
  m.def("celu", nn::celu, "x"_a, "alpha"_a = 1.0, "x, or alpha * (exp(x / alpha) - 1) below 0.");
  m.def("softplus", nn::softplus, "x"_a, "beta"_a = 1.0, "threshold"_a = 20.0,
        "log(1 + exp(beta * x)) / beta, and x where beta * x > threshold.");
  m.def("hardshrink", nn::hardshrink, "x"_a, "lambd"_a = 0.5, "x, or 0 where |x| <= lambd.");
  m.def("softshrink", nn::softshrink, "x"_a, "lambd"_a = 0.5,
        "What of x lies beyond lambd, or 0 where |x| <= lambd.");
  m.def("threshold", nn::threshold, "x"_a, "threshold"_a, "value"_a,
        "x where it is above the threshold, else the value.");
  m.def("softmin", nn::softmin, "x"_a, "axis"_a = -1, "softmax(-x).");
  m.def("glu", nn::glu, "x"_a, "axis"_a = -1,
        "a * sigmoid(b) of the first and second half along an axis.");
  m.def(
      "swiglu", [](const Tensor& gate, const Tensor& value) { return nn::swiglu(gate, value); },
      "gate"_a, "value"_a, "silu(gate) * value.");
  m.def("dropout", nn::dropout, "x"_a, "p"_a = 0.5, "training"_a = true, nb::kw_only(),
        "by_channel"_a = false,
        "Each element 0 with probability p, else divided by 1 - p; x itself unless training.\n"
        "by_channel drops whole channels, axis 1.");
}

}  // namespace hologram::python
