// Functions to take gradients of, and how gradients are held against finite differences in f64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "hologram/gradient.hpp"
#include "hologram/ops.hpp"

namespace hologram::gradients {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline Tensor f64(Doubles values, Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  return Tensor::from_vector(std::move(values), std::move(shape));
}
inline Doubles values_of(const Tensor& t) { return t.to(DType::F64).to_vector<double>(); }
inline double inner(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) {
    const Doubles x = values_of(a[i]), y = values_of(b[i]);
    EXPECT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); k++) sum += x[k] * y[k];
  }
  return sum;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  Tensor tensor(const Shape& shape, double low, double high) {
    Doubles values(static_cast<size_t>(count_of(shape)));
    std::uniform_real_distribution<double> between(low, high);
    for (double& v : values) v = between(engine_);
    return Tensor::from_vector(std::move(values), shape);
  }
  Tensors like(const Tensors& all) {
    Tensors made;
    for (const Tensor& t : all) made.push_back(tensor(t.shape(), -1, 1));
    return made;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine_() % n); }

 private:
  std::mt19937 engine_;
};

inline Tensors moved(const Tensors& x, const Tensors& by, double step) {
  Tensors out;
  for (size_t i = 0; i < x.size(); i++) out.push_back((x[i] + by[i] * step).eval());
  return out;
}

// The slope along a direction by five points, and by both kinds of gradients.
inline void check(const char* name, const TensorFunction& function, const Tensors& x,
                  uint32_t seed = 1, double within = 1e-6) {
  SCOPED_TRACE(name);
  Random random(seed);
  const Tensors v = random.like(x);
  const Vjp back = vjp(function, x);
  const Tensors u = random.like(back.values);
  const Tensors plain = function(x);
  for (size_t i = 0; i < plain.size(); i++)
    EXPECT_EQ(values_of(plain[i]), values_of(back.values[i])) << "recording shows";
  const double by_vjp = inner(back.pullback(u), v);
  constexpr double kStep = 1e-4;
  const auto at = [&](double step) { return inner(function(moved(x, v, step)), u); };
  const double slope =
      (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
  const double size = std::max({1.0, std::fabs(slope)});
  EXPECT_NEAR(by_vjp, slope, within * size);
  const Jvp forward = jvp(function, x, v);
  EXPECT_NEAR(inner(forward.tangents, u), by_vjp, 1e-9 * size);
}

struct Function {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Tensor(const Tensors&)> of;
  double low = -2, high = 2;
};

inline const Tensor& some_indices() {
  static const Tensor indices = Tensor::from({2, 0, 2, 1}, {4}).to(DType::I64).eval();
  return indices;
}

inline std::vector<Function> functions() {
  using namespace ops;
  using T = const Tensors&;
  const auto at = [](Shape shape) {
    const int64_t n = count_of(shape);
    return (arange(0, n, 1, DType::I64) * 7 % 3).reshape(std::move(shape)).eval();
  };
  const Tensor rows = at({2, 4});
  return {
      {"sum", {{3, 4}}, [](T x) { return sum(x[0], 0); }},
      {"sum of all", {{3, 4}}, [](T x) { return sum(x[0]); }},
      {"prod", {{3, 4}}, [](T x) { return prod(x[0], 1, true); }},
      {"mean",
       {{3, 4, 2}},
       [](T x) {
         return mean(x[0], {0, 2});
       }},
      {"var", {{3, 4}}, [](T x) { return var(x[0], 1, 1.0); }},
      {"std", {{3, 4}}, [](T x) { return std(x[0], 0); }},
      {"min", {{3, 4}}, [](T x) { return min(x[0], 0); }},
      {"max", {{3, 4}}, [](T x) { return max(x[0]); }},
      {"logsumexp", {{3, 4}}, [](T x) { return logsumexp(x[0], 1); }},
      {"norm", {{3, 4}}, [](T x) { return norm(x[0], 2.0, 1); }},
      {"norm 3", {{3, 4}}, [](T x) { return norm(x[0], 3.0); }},
      {"norm 1", {{3, 4}}, [](T x) { return norm(x[0], 1.0, 0, true); }},
      {"norm infinity", {{3, 4}}, [](T x) { return norm(x[0], kInfinity, 0); }},
      {"softmax", {{3, 4}}, [](T x) { return softmax(x[0], 0); }},
      {"log_softmax", {{3, 4}}, [](T x) { return log_softmax(x[0]); }},
      {"cumsum", {{3, 4}}, [](T x) { return cumsum(x[0], 0); }},
      {"cumprod", {{3, 4}}, [](T x) { return cumprod(x[0], 1); }},
      {"sort", {{3, 4}}, [](T x) { return sort(x[0], 0, true); }},
      {"topk", {{3, 5}}, [](T x) { return topk(x[0], 2).values; }},
      {"take", {{3, 4}}, [](T x) { return take(x[0], some_indices(), 0); }},
      {"take of all", {{3, 4}}, [](T x) { return take(x[0], some_indices()); }},
      {"gather", {{3, 4}}, [rows](T x) { return gather(x[0], rows, 0); }},
      {"scatter", {{3, 4}, {2, 4}}, [rows](T x) { return scatter(x[0], rows, x[1], 0); }},
      {"scatter_add", {{3, 4}, {2, 4}}, [rows](T x) { return scatter_add(x[0], rows, x[1], 0); }},
      {"concat", {{3, 4}, {2, 4}, {1, 4}}, [](T x) { return concat(x, 0); }},
      {"stack", {{3, 4}, {3, 4}}, [](T x) { return ops::stack(x, 1); }},
      {"pad",
       {{3, 4}},
       [](T x) {
         return pad(x[0], {{1, 2}, {0, 1}}, 3);
       }},
      {"put",
       {{3, 4}, {2, 1}},
       [](T x) {
         return put(x[0], {{0, 2}, {1, {}, 2}}, x[1]);
       }},
      {"roll", {{3, 4}}, [](T x) { return roll(x[0], 2, 1); }},
      {"repeat", {{3, 4}}, [](T x) { return repeat(x[0], 3, 0); }},
      {"tile",
       {{3, 4}},
       [](T x) {
         return tile(x[0], {2, 3});
       }},
      {"cast", {{3, 4}}, [](T x) { return (x[0] * 2).to(DType::F64).to(DType::F64); }},
      {"slices",
       {{5, 6}},
       [](T x) {
         return x[0].slice({{0, {}, 2}, {{}, {}, -1}}) * x[0].slice(0, {2, 5});
       }},
      {"select", {{5, 6}}, [](T x) { return x[0].select(1, 2) * x[0].select(1, -1); }},
      {"permute",
       {{2, 3, 4}},
       [](T x) {
         return x[0].permute({2, 0, 1}).reshape({4, 6}) * 2;
       }},
      {"reshape of a transpose",
       {{3, 4}},
       [](T x) {
         return x[0].transpose().reshape({2, 6});
       }},
      {"broadcast",
       {{4, 1}},
       [](T x) {
         return sin(x[0].broadcast_to({2, 4, 3}));
       }},
      {"flip",
       {{3, 4}},
       [](T x) {
         return x[0].flip({0, 1}) * x[0];
       }},
      {"squeeze", {{3, 1, 4}}, [](T x) { return x[0].squeeze(1) * x[0].unsqueeze(0).squeeze(); }},
      {"copy", {{3, 4}}, [](T x) { return copy(contiguous(x[0].transpose())); }},
      {"matmul", {{3, 4}, {4, 5}}, [](T x) { return matmul(x[0], x[1]); }},
      {"matmul of batches", {{2, 1, 3, 4}, {5, 4, 2}}, [](T x) { return matmul(x[0], x[1]); }},
      {"matmul of vectors", {{4}, {4}}, [](T x) { return matmul(x[0], x[1]); }},
      {"matrix by vector", {{2, 3, 4}, {4}}, [](T x) { return matmul(x[0], x[1]); }},
      {"vector by matrix", {{3}, {3, 4}}, [](T x) { return matmul(x[0], x[1]); }},
      {"gemm",
       {{4, 3}, {4, 5}, {5}},
       [](T x) { return gemm(x[0], x[1], x[2], 2, 0.5, true, false); }},
      {"dot", {{7}, {7}}, [](T x) { return dot(x[0], x[1]); }},
      {"outer", {{3}, {4}}, [](T x) { return outer(x[0], x[1]); }},
      {"tensordot",
       {{2, 3, 4}, {4, 3, 5}},
       [](T x) {
         return tensordot(x[0], x[1], {1, 2}, {1, 0});
       }},
      {"conv2d",
       {{2, 5, 6, 3}, {3, 2, 3, 4}},
       [](T x) {
         return conv2d(x[0], x[1], {.stride = {2, 1}, .padding = {1, 0}});
       }},
      {"conv2d of planes",
       {{1, 4, 7, 6}, {6, 2, 3, 3}, {6}},
       [](T x) {
         return conv2d(x[0], x[1],
                       {.stride = 2,
                        .padding = {0, 1, 2, 1},
                        .dilation = {2, 1},
                        .groups = 2,
                        .bias = x[2],
                        .layout = ImageLayout::Nchw});
       }},
      {"conv2d same",
       {{7, 6, 2}, {3, 3, 2, 2}},
       [](T x) { return conv2d(x[0], x[1], {.stride = 2, .padding = Padding2d::same()}); }},
      {"max_pool2d",
       {{2, 5, 6, 2}},
       [](T x) { return max_pool2d(x[0], {.kernel = 3, .stride = 2, .padding = 1}); }},
      {"avg_pool2d",
       {{2, 3, 5, 6}},
       [](T x) {
         return avg_pool2d(x[0], {.kernel = {3, 2},
                                  .stride = Extent(2, 1),
                                  .padding = {1, 0},
                                  .layout = ImageLayout::Nchw});
       }},
  };
}

}  // namespace hologram::gradients
