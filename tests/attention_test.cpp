// Attention by its program and by products of matrices, beside its formula in f64: drawn shapes,
// masks and options, gradients of both orders, bits, properties, and what is no number.
#include <limits>

#include "attention_draws.hpp"
#include "gradients.hpp"
#include "hologram/error.hpp"
#include "hologram/graph.hpp"

namespace hologram {
namespace {

using namespace attention_draws;

// A launch that has a limit of time is no library's.
Executor by_program(int threads = 2) {
  return Executor::builder().backend(BackendType::Cpu).threads(threads).timeout_ms(600000).build();
}

TEST(Attention, SaysHowItIsComputed) {
  const Tensor x = ops::ones({2, 3, 5, 8}, DType::F32, by_program()).eval();
  const std::string said = explain(nn::scaled_dot_product_attention(x, x, x));
  EXPECT_EQ(said.find("1 step on "), 0u) << said;
  EXPECT_NE(said.find("attention"), std::string::npos) << said;
  EXPECT_NE(said.find("keep no scores"), std::string::npos) << said;
}

TEST(Attention, OfDrawnShapesIsItsFormula) {
  const Executor program = by_program();
  const Executor& products = default_executor();
  for (uint32_t seed = 0; seed < 24; seed++) {
    SCOPED_TRACE(seed);
    const DType dtype = seed % 4 == 3 ? (seed % 8 == 3 ? DType::F16 : DType::BF16) : DType::F32;
    const Draw draw = drawn(seed, dtype);
    const std::vector<Array> right = expected(draw);
    expect_close(computed(draw, program), right, dtype == DType::F32 ? 100 : 4);
    expect_close(computed(draw, products), right, dtype == DType::F32 ? 100 : 4);
  }
}

TEST(Attention, OfDoublesIsItsFormula) {
  for (uint32_t seed = 100; seed < 104; seed++) {
    SCOPED_TRACE(seed);
    const Draw draw = drawn(seed, DType::F64);
    expect_close(computed(draw, by_program()), expected(draw), 100);
  }
}

TEST(Attention, HasTheSameBitsOnAnyNumberOfThreads) {
  for (uint32_t seed = 200; seed < 204; seed++)
    expect_same_bits(computed(drawn(seed, DType::F32), by_program(1)),
                     computed(drawn(seed, DType::F32), by_program(2)));
}

// Results, and gradients apart from them: with what was kept, and with nothing.
TEST(Attention, HasGradientsApartFromItsResult) {
  for (uint32_t seed = 300; seed < 316; seed++) {
    SCOPED_TRACE(seed);
    const DType dtype = seed % 4 == 3 ? DType::BF16 : DType::F32;
    Draw draw = drawn(seed, dtype);
    draw.sinks.reset();
    const std::vector<Array> right = expected(draw);
    for (const Executor& executor : {by_program(), default_executor()}) {
      const Tensors x = inputs_of(draw, executor);
      const Tensor change = Tensor::from(draw.arrays[3], executor);
      nn::AttentionOptions options = draw.options;
      if (draw.mask) options.mask = Tensor::from(*draw.mask, executor);
      const nn::KeptAttention made = nn::attention_with_kept(x[0], x[1], x[2], options);
      for (const Tensor& kept : {made.kept, ops::zeros({0}, dtype, executor)}) {
        std::vector<Array> all = {made.result.array()};
        for (const Tensor& t :
             nn::attention_changes(x[0], x[1], x[2], made.result, kept, change, options))
          all.push_back(t.array());
        expect_close(all, right, dtype == DType::F32 ? 100 : 16);
      }
    }
  }
  const Tensor x = ops::ones({2, 5, 8}), none = ops::ones({2, 0, 8});
  const nn::KeptAttention empty = nn::attention_with_kept(x, none, none);
  const Tensors changes = nn::attention_changes(x, none, none, empty.result, empty.kept, x);
  EXPECT_EQ(changes[0].to_vector<float>(), std::vector<float>(80));
  EXPECT_EQ(changes[1].shape(), Shape({2, 0, 8}));
  EXPECT_THROW(nn::attention_with_kept(x, x, x, {.dropout_p = 0.5}), Error);
  EXPECT_THROW(nn::attention_changes(x, x, x, x, x, x, {.sinks = ops::ones({2})}), Error);
}

// Pieces of more than one head, of one head, and of some queries of one.
TEST(Attention, OfManyScoresIsComputedByPieces) {
  Drawer d(1);
  for (const auto& [heads, queries, keys] :
       {std::tuple(40, 200, 250), std::tuple(9, 900, 1100), std::tuple(2, 700, 3500)}) {
    Draw draw;
    const Shape rows = {1, heads, queries, 4}, others = {1, heads, keys, 4};
    draw.arrays = {d.numbers(rows, DType::F32), d.numbers(others, DType::F32),
                   d.numbers(others, DType::F32), d.numbers(rows, DType::F32)};
    draw.options = {.is_causal = true, .enable_gqa = true, .query_offset = keys - queries};
    expect_close(computed(draw, default_executor()), expected(draw), 200);
  }
}

// A step of a decoder, captured once: the length of the cache is read from memory.
TEST(Attention, OfACapturedStepReadsItsPosition) {
  for (const Executor& executor : {by_program(), default_executor()}) {
    const auto some = [&](const Shape& shape, uint32_t seed) {
      return Tensor::from(Drawer(seed).numbers(shape, DType::F32), executor);
    };
    const Tensor q = some({4, 2, 8}, 1), k = some({2, 600, 8}, 2), v = some({2, 600, 8}, 3);
    nn::AttentionOptions options = {.is_causal = true, .enable_gqa = true};
    const Graph step(
        [&](const Tensors& x) -> Tensors {
          nn::AttentionOptions o = options;
          o.query_position = x[0];
          return {nn::scaled_dot_product_attention(q, k, v, o)};
        },
        {ops::zeros({}, DType::I32, executor)});
    for (const int32_t position : {0, 31, 300, 598}) {
      options.query_offset = position;
      const Tensor right = nn::scaled_dot_product_attention(q, k, v, options);
      const Tensor at = ops::full({}, position, DType::I32, executor).eval();
      expect_close({step.launch(at)[0].array()}, {right.array()}, 8);
    }
  }
}

TEST(Attention, HasGradientsOfGradients) {
  gradients::Random random(1);
  for (const bool program : {false, true}) {
    const Executor executor = program ? by_program() : default_executor();
    gradients::Tensors x;
    for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 5, 3}, Shape{2, 5, 2}})
      x.push_back(Tensor::from(random.tensor(shape, -1, 1).array(), executor));
    const auto first = [](const gradients::Tensors& in) -> gradients::Tensors {
      return gradient(
          [](const gradients::Tensors& y) {
            return ops::sum(ops::square(nn::scaled_dot_product_attention(y[0], y[1], y[2])));
          },
          in);
    };
    const Vjp back = vjp(first, x);
    gradients::Tensors u, v;
    for (const Tensor& t : x) {
      u.push_back(Tensor::from(random.tensor(t.shape(), -1, 1).array(), executor));
      v.push_back(Tensor::from(random.tensor(t.shape(), -1, 1).array(), executor));
    }
    constexpr double kStep = 1e-5;
    const auto at = [&](double step) {
      return gradients::inner(first(gradients::moved(x, v, step)), u);
    };
    EXPECT_NEAR(gradients::inner(back.pullback(u), v), (at(kStep) - at(-kStep)) / (2 * kStep),
                1e-6);
  }
}

class Properties : public testing::TestWithParam<bool> {
 protected:
  Executor executor_ = GetParam() ? by_program() : default_executor();
  Tensor some(const Shape& shape, uint32_t seed) {
    return Tensor::from(Drawer(seed).numbers(shape, DType::F32), executor_);
  }
  static void expect_near(const Tensor& a, const Tensor& b, double units = 8) {
    expect_close({a.array()}, {b.array()}, units);
  }
};

TEST_P(Properties, SharesSumToOne) {
  const Tensor y = nn::scaled_dot_product_attention(some({2, 70, 9}, 1), some({2, 75, 9}, 2),
                                                    ops::ones({2, 75, 5}, DType::F32, executor_));
  expect_near(y, ops::ones({2, 70, 5}, DType::F32, executor_));
}

TEST_P(Properties, CausalIsAMask) {
  const Tensor q = some({2, 70, 9}, 1), k = some({2, 70, 9}, 2), v = some({2, 70, 5}, 3);
  const Tensor at = ops::arange(0, 70, 1, DType::I32, executor_);
  expect_near(nn::scaled_dot_product_attention(q, k, v, {.is_causal = true}),
              nn::scaled_dot_product_attention(q, k, v, {.mask = at <= at.unsqueeze(1)}));
}

TEST_P(Properties, KeysHaveNoOrder) {
  const Tensor q = some({2, 40, 9}, 1), k = some({2, 70, 9}, 2), v = some({2, 70, 5}, 3);
  expect_near(nn::scaled_dot_product_attention(q, k, v),
              nn::scaled_dot_product_attention(q, k.flip({1}), v.flip({1})), 16);
}

TEST_P(Properties, AMaskedKeyIsAsGoodAsNone) {
  const Tensor q = some({2, 40, 9}, 1), k = some({2, 70, 9}, 2), v = some({2, 70, 5}, 3);
  const Tensor some_keys = ops::arange(0, 70, 1, DType::I32, executor_) < 50;
  expect_near(nn::scaled_dot_product_attention(q, k, v, {.mask = some_keys}),
              nn::scaled_dot_product_attention(q, k.slice(1, {0, 50}), v.slice(1, {0, 50})));
}

TEST_P(Properties, ViewsNeedNotBeDense) {
  const Tensor q = some({2, 40, 3, 9}, 1), k = some({2, 9, 3, 70}, 2), v = some({1, 70, 3, 5}, 3);
  const Tensor y = nn::scaled_dot_product_attention(
      q.permute({0, 2, 1, 3}), k.permute({0, 2, 3, 1}), v.permute({0, 2, 1, 3}));
  const Tensor dense = nn::scaled_dot_product_attention((q.permute({0, 2, 1, 3}) + 0).eval(),
                                                        (k.permute({0, 2, 3, 1}) + 0).eval(),
                                                        (v.permute({0, 2, 1, 3}) + 0).eval());
  expect_near(y, dense);
}

TEST_P(Properties, LargeScoresDoNotOverflow) {
  const Tensor q = some({1, 3, 4}, 1) * 1e4, k = some({1, 90, 4}, 2) * 1e4, v = some({1, 90, 4}, 3);
  const std::vector<double> y = doubles(nn::scaled_dot_product_attention(q, k, v).array());
  for (const double x : y) EXPECT_TRUE(std::isfinite(x) && std::fabs(x) <= 1) << x;
}

// As in PyTorch: what sees nothing is 0, an infinite score or one that is no number spoils its
// row, and so does a value that is none.
TEST_P(Properties, WhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto row = [&](std::initializer_list<float> added, float value) {
    const Tensor zero = ops::zeros({1, 2}, DType::F32, executor_),
                 keys = ops::zeros({3, 2}, DType::F32, executor_);
    const Tensor mask = Tensor::from(added, {1, 3}, executor_);
    const Tensor v = Tensor::from({1.0f, 2.0f, value}, {3, 1}, executor_);
    return nn::scaled_dot_product_attention(zero, keys, v, {.mask = mask}).to_vector<float>()[0];
  };
  EXPECT_EQ(row({0, 0, 0}, 3), 2);
  EXPECT_EQ(row({-inf, 0, -inf}, 3), 2);
  EXPECT_EQ(row({-inf, -inf, -inf}, 3), 0);
  EXPECT_TRUE(std::isnan(row({0, inf, 0}, 3)));
  EXPECT_TRUE(std::isnan(row({nan, 0, 0}, 3)));
  EXPECT_TRUE(std::isnan(row({0, 0, 0}, nan)));
  EXPECT_EQ(row({0, 0, 0}, inf), inf);
}

INSTANTIATE_TEST_SUITE_P(Ways, Properties, testing::Values(false, true),
                         [](const auto& way) { return way.param ? "program" : "products"; });

}  // namespace
}  // namespace hologram
