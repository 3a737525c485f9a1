#include <algorithm>
#include <cmath>

#include "hologram/ops.hpp"
#include "workload_rows.hpp"

namespace hologram::tool {
namespace {

template <int inputs>
Plan positive(int64_t n) {
  Plan plan = flat<inputs>(n);
  plan.least = 0.01f;
  return plan;
}

template <auto function>
double each(const Workload& w, size_t i) {
  return function(value(w, 0, i));
}

template <auto function>
double pair(const Workload& w, size_t i) {
  return function(value(w, 0, i), value(w, 1, i));
}

constexpr Row kFunctions[] = {
    {"sqrt", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::sqrt(x[0]); },
     each<[](double x) { return std::sqrt(x); }>},
    {"rsqrt", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::rsqrt(x[0]); },
     each<[](double x) { return 1 / std::sqrt(x); }>},
    {"reciprocal", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::reciprocal(x[0]); },
     each<[](double x) { return 1 / x; }>},
    {"square", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::square(x[0]); },
     each<[](double x) { return x * x; }>},
    {"abs", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::abs(x[0]); },
     each<[](double x) { return std::abs(x); }>},
    {"floor", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::floor(x[0]); },
     each<[](double x) { return std::floor(x); }>},
    {"exp2", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::exp2(x[0]); },
     each<[](double x) { return std::exp2(x); }>},
    {"expm1", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::expm1(x[0]); },
     each<[](double x) { return std::expm1(x); }>},
    {"log", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::log(x[0]); },
     each<[](double x) { return std::log(x); }>},
    {"log2", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::log2(x[0]); },
     each<[](double x) { return std::log2(x); }>},
    {"log10", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::log10(x[0]); },
     each<[](double x) { return std::log10(x); }>},
    {"log1p", positive<1>, 1, 1e-6, [](const Tensors& x) { return ops::log1p(x[0]); },
     each<[](double x) { return std::log1p(x); }>},
    {"sin", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::sin(x[0]); },
     each<[](double x) { return std::sin(x); }>},
    {"cos", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::cos(x[0]); },
     each<[](double x) { return std::cos(x); }>},
    {"tan", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::tan(x[0]); },
     each<[](double x) { return std::tan(x); }>},
    {"atan", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::atan(x[0]); },
     each<[](double x) { return std::atan(x); }>},
    {"sinh", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::sinh(x[0]); },
     each<[](double x) { return std::sinh(x); }>},
    {"cosh", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::cosh(x[0]); },
     each<[](double x) { return std::cosh(x); }>},
    {"tanh", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::tanh(x[0]); },
     each<[](double x) { return std::tanh(x); }>},
    {"erf", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::erf(x[0]); },
     each<[](double x) { return std::erf(x); }>},
    {"relu", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::relu(x[0]); },
     each<[](double x) { return std::max(x, 0.0); }>},
    {"silu", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::silu(x[0]); },
     each<[](double x) { return x / (1 + std::exp(-x)); }>},
    {"softplus", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::softplus(x[0]); },
     each<[](double x) { return std::log1p(std::exp(x)); }>},
    {"elu", flat<1>, 1, 1e-6, [](const Tensors& x) { return ops::elu(x[0], 1.0); },
     each<[](double x) { return std::max(x, 0.0) + std::expm1(std::min(x, 0.0)); }>},
    {"div", positive<2>, 1, 1e-6, [](const Tensors& x) { return x[0] / x[1]; },
     pair<[](double x, double y) { return x / y; }>},
    {"pow", positive<2>, 1, 1e-6, [](const Tensors& x) { return ops::pow(x[0], x[1]); },
     pair<[](double x, double y) { return std::pow(x, y); }>},
    {"minimum", flat<2>, 1, 1e-7, [](const Tensors& x) { return ops::minimum(x[0], x[1]); },
     pair<[](double x, double y) { return std::min(x, y); }>},
};

}  // namespace

std::span<const Row> function_rows() { return kFunctions; }

}  // namespace hologram::tool
