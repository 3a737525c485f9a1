// Random graphs of tensors, the same for the same seed.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "hologram/ops.hpp"

namespace hologram::testing_graphs {

using Random = std::mt19937;

inline size_t below(Random& random, size_t n) { return random() % n; }

// A number in the environment; 0 unless given.
inline unsigned long setting(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

// The same graph for the same seed, on any executor: the values made last are the roots.
inline std::vector<Tensor> random_graph(uint32_t seed, const Executor& executor) {
  Random random(seed);
  // Some long enough to be reduced in pieces, or shared by a group.
  const int64_t rows = seed % 7 == 0 ? 601 : 6, columns = seed % 17 == 0 && rows == 6 ? 16400
                                                          : seed % 5 == 0             ? 530
                                                                                      : 4;
  std::vector<Tensor> pool;
  for (const Shape& shape : {Shape{rows, columns}, Shape{1, columns}, Shape{rows, 1}}) {
    std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
    for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 512;
    pool.push_back(Tensor::from_vector(values, shape, executor));
  }
  const auto any = [&]() -> const Tensor& { return pool[below(random, pool.size())]; };
  const auto view = [&](const Tensor& x) {
    switch (below(random, 5)) {
      case 0: return x.flip({static_cast<int>(below(random, 2))});
      case 1: return x.transpose().flip({1}).transpose();
      case 2: return x.broadcast_to({rows, columns});
      case 3: return x.reshape({-1}).reshape(x.shape());
      default: return x.slice({{}, {{}, {}, x.size(1) == columns ? -1 : 1}});
    }
  };
  const auto reduced = [&](const Tensor& x) {
    const int axis = static_cast<int>(below(random, 2));
    switch (below(random, 5)) {
      case 0: return ops::sum(x, axis, true) * 0.01f;
      case 1: return ops::max(x, axis, true);
      case 2: return ops::mean(x, {}, true);
      case 3: return ops::softmax(x, axis);
      default: return ops::sqrt(ops::var(x, axis, 0, true));
    }
  };
  const size_t steps = 4 + below(random, 14);
  for (size_t k = 0; k < steps; k++) {
    Tensor made;
    switch (below(random, 9)) {
      case 0: made = any() + any(); break;
      case 1: made = any() * any() * 0.25f; break;
      case 2: made = any() - view(any()); break;
      case 3: made = ops::maximum(any(), any()); break;
      case 4: made = ops::tanh(any()); break;
      case 5: made = ops::where(any() < any(), any(), 1.5f); break;
      case 6: made = reduced(below(random, 2) == 0 ? view(any()) : any()); break;
      case 7: made = view(any()); break;
      default: made = ops::fma(any(), any(), reduced(any())); break;
    }
    pool.push_back(made);
  }
  const size_t roots = 1 + below(random, 4);
  return {pool.end() - static_cast<std::ptrdiff_t>(roots), pool.end()};
}

inline std::vector<Array> arrays_of(const std::vector<Tensor>& tensors) {
  std::vector<Array> arrays;
  arrays.reserve(tensors.size());
  for (const Tensor& t : tensors) arrays.push_back(t.array());
  return arrays;
}

// `smallest`: below it anything may be 0.
inline void expect_same(const std::vector<Array>& a, const std::vector<Array>& b, uint32_t seed,
                        const char* what, float smallest = 0) {
  for (size_t k = 0; k < a.size(); k++) {
    ASSERT_EQ(a[k].shape(), b[k].shape());
    for (size_t i = 0; i < a[k].size(); i++) {
      const float x = a[k].as<float>()[i], y = b[k].as<float>()[i];
      const bool same = std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
      if (same || (x != x && y != y)) continue;
      if (std::fabs(x) < smallest && std::fabs(y) < smallest) continue;
      FAIL() << what << ": seed " << seed << ", root " << k << ", element " << i << ": " << x
             << " or " << y;
    }
  }
}

}  // namespace hologram::testing_graphs
