// Attention of drawn shapes, masks and options, and what it ought to be by its formula.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "hologram/gradient.hpp"
#include "hologram/nn.hpp"

namespace hologram::attention_draws {

using Tensors = std::vector<Tensor>;

struct Draw {
  std::vector<Array> arrays;  // query, key, value, a cotangent of the result
  std::optional<Array> mask, sinks;
  nn::AttentionOptions options;  // without these two
  int64_t of_key_head = 1;
};

class Drawer {
 public:
  explicit Drawer(uint32_t seed) : engine_(seed) {}
  Array numbers(const Shape& shape, DType dtype, double low = -1, double high = 1) {
    std::uniform_real_distribution<double> between(low, high);
    std::vector<double> values(static_cast<size_t>(count_of(shape)));
    for (double& v : values) v = between(engine_);
    return Tensor::from_vector(values, shape).to(dtype).array();
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool once_in(int64_t n) { return between(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

inline Draw drawn(uint32_t seed, DType dtype) {
  Drawer d(seed);
  Draw draw;
  const int64_t batch = d.between(1, 2), key_heads = d.between(1, 2);
  draw.of_key_head = d.between(1, 3);
  const int64_t heads = key_heads * draw.of_key_head, queries = d.between(1, 80),
                keys = d.between(1, 80), features = d.between(1, 40), values = d.between(1, 40);
  draw.arrays = {d.numbers({batch, heads, queries, features}, dtype, -2, 2),
                 d.numbers({batch, key_heads, keys, features}, dtype, -2, 2),
                 d.numbers({batch, key_heads, keys, values}, dtype),
                 d.numbers({batch, heads, queries, values}, dtype)};
  nn::AttentionOptions& o = draw.options;
  o.enable_gqa = true;
  o.is_causal = d.once_in(2);
  if (d.once_in(3)) o.query_offset = d.between(-5, 20);
  if (d.once_in(3)) o.softcap = 1.5;
  if (d.once_in(3)) o.scale = 0.3;
  if (d.once_in(3)) o.window = nn::AttentionWindow{d.between(0, 40), d.between(0, 40)};
  if (d.once_in(3)) draw.sinks = d.numbers({heads}, dtype);
  const Shape masks[] = {{queries, keys}, {heads, 1, keys}, {batch, 1, queries, keys}, {keys}};
  const Shape of_mask = masks[d.between(0, 3)];
  if (d.once_in(3)) draw.mask = d.numbers(of_mask, dtype);
  else if (d.once_in(2))
    draw.mask = (Tensor::from(d.numbers(of_mask, DType::F32, -1, 0.5)) > -0.5).array();
  return draw;
}

// With sinks they are the fourth input.
inline Tensors inputs_of(const Draw& draw, const Executor& executor) {
  Tensors all;
  for (size_t i = 0; i < 3; i++) all.push_back(Tensor::from(draw.arrays[i], executor));
  if (draw.sinks) all.push_back(Tensor::from(*draw.sinks, executor));
  return all;
}

// The result and its gradients.
inline std::vector<Array> computed(const Draw& draw, const Executor& executor) {
  nn::AttentionOptions options = draw.options;
  if (draw.mask) options.mask = Tensor::from(*draw.mask, executor);
  const auto attend = [&](const Tensors& x) -> Tensors {
    nn::AttentionOptions o = options;
    if (draw.sinks) o.sinks = x[3];
    return {nn::scaled_dot_product_attention(x[0], x[1], x[2], o)};
  };
  const Vjp back = vjp(attend, inputs_of(draw, executor));
  std::vector<Array> all = {back.values[0].array()};
  for (const Tensor& t : back.pullback({Tensor::from(draw.arrays[3], executor)}))
    all.push_back(t.array());
  return all;
}

// The formula in f64, written in plain operations: exponentials of small scores need no maximum.
inline Tensor formula(const Tensors& x, const Draw& draw) {
  const int64_t batch = x[0].size(0), heads = x[0].size(1), queries = x[0].size(2),
                keys = x[1].size(2);
  const auto repeated = [&](const Tensor& t) {
    const Shape each = {batch, t.size(1), draw.of_key_head, keys, t.size(3)};
    return t.unsqueeze(2).broadcast_to(each).reshape({batch, heads, keys, t.size(3)});
  };
  const nn::AttentionOptions& o = draw.options;
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(x[0].size(3))));
  Tensor scores = ops::matmul(x[0], repeated(x[1]).transpose()) * scale;
  if (o.softcap > 0) scores = ops::tanh(scores / o.softcap) * o.softcap;
  const Tensor key = ops::arange(0, keys, 1, DType::I64),
               query = ops::arange(o.query_offset, o.query_offset + queries, 1, DType::I64)
                           .unsqueeze(1);
  Tensor seen = ops::ones({queries, keys}, DType::Bool);
  if (o.is_causal) seen = seen & (key <= query);
  if (o.window && o.window->before) seen = seen & (key >= query - *o.window->before);
  if (o.window && o.window->after) seen = seen & (key <= query + *o.window->after);
  if (draw.mask) {
    const Tensor mask = Tensor::from(*draw.mask);
    if (mask.dtype() == DType::Bool) seen = seen & mask;
    else scores = scores + mask.to(DType::F64);
  }
  const Tensor e = ops::where(seen, ops::exp(scores), 0);
  Tensor total = ops::sum(e, -1, true);
  if (draw.sinks) total = total + ops::exp(x[3]).reshape({heads, 1, 1});
  return ops::matmul(e / ops::where(total == 0, 1, total), repeated(x[2]));
}
inline std::vector<Array> expected(const Draw& draw) {
  Tensors x = inputs_of(draw, default_executor());
  for (Tensor& t : x) t = t.to(DType::F64);
  const Vjp back = vjp([&](const Tensors& in) -> Tensors { return {formula(in, draw)}; }, x);
  std::vector<Array> all = {back.values[0].array()};
  for (const Tensor& t : back.pullback({Tensor::from(draw.arrays[3]).to(DType::F64)}))
    all.push_back(t.array());
  return all;
}

inline std::vector<double> doubles(const Array& a) {
  return Tensor::from(a).to(DType::F64).to_vector<double>();
}

// Within `units` roundings of the largest.
inline void expect_close(const std::vector<Array>& have, const std::vector<Array>& right,
                         double units) {
  ASSERT_EQ(have.size(), right.size());
  for (size_t i = 0; i < have.size(); i++) {
    const std::vector<double> got = doubles(have[i]), exact = doubles(right[i]);
    ASSERT_EQ(got.size(), exact.size());
    double largest = 1;
    for (const double x : exact) largest = std::max(largest, std::fabs(x));
    const double epsilon = have[i].dtype() == DType::F64    ? 0x1p-52
                           : have[i].dtype() == DType::F16  ? 0x1p-10
                           : have[i].dtype() == DType::BF16 ? 0x1p-7
                                                            : 0x1p-23;
    for (size_t k = 0; k < got.size(); k++)
      ASSERT_NEAR(got[k], exact[k], units * epsilon * largest)
          << (i == 0 ? "result, element " : "gradient of input ") << i << ", element " << k;
  }
}

inline void expect_same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) {
    ASSERT_EQ(a[i].size(), b[i].size());
    EXPECT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].bytes()), 0) << "of number " << i;
  }
}

}  // namespace hologram::attention_draws
