// Neural operations as users meet them: edge shapes, options, memory, one kernel where one is
// promised, and errors. Numbers are held against PyTorch's in nn_torch_test and against plain loops
// in the conformance suite.
#include "hologram/nn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "hologram/graph.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

using Doubles = std::vector<double>;

Tensor some(Shape shape, uint32_t seed, DType dtype = DType::F32) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count_of(shape)));
  for (float& v : values) v = uniform(random);
  return Tensor::from_vector(values, std::move(shape)).to(dtype).eval();
}
Doubles doubles(const Tensor& x) { return x.to(DType::F64).to_vector<double>(); }

void expect_near(const Tensor& x, const Doubles& right, double within) {
  const Doubles got = doubles(x);
  ASSERT_EQ(got.size(), right.size());
  for (size_t i = 0; i < got.size(); i++) ASSERT_NEAR(got[i], right[i], within) << i;
}

// Whether a call is refused with these words, and a remedy.
void expect_refused(const std::function<void()>& call, const std::string& what) {
  const std::string message = message_of(call);
  EXPECT_EQ(message.substr(0, what.size()), what);
  EXPECT_LT(message.find(" | "), message.size() - 10) << "no remedy: " << message;
}

int steps_of(const Tensor& x) { return std::stoi(explain(x)); }

// --- attention

struct Seen {
  bool causal = false;
  int64_t offset = 0, before = -1;
};
Doubles plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Seen& seen) {
  const Doubles a = doubles(q), b = doubles(k), c = doubles(v);
  const auto rows = static_cast<size_t>(q.size(-2)), keys = static_cast<size_t>(k.size(-2)),
             features = static_cast<size_t>(q.size(-1)), values = static_cast<size_t>(v.size(-1)),
             heads = a.size() / (rows * features), shared = heads * keys * features / b.size();
  Doubles result;
  for (size_t h = 0; h < heads; h++)
    for (size_t i = 0; i < rows; i++) {
      const size_t kh = h / shared;
      Doubles weights(keys);
      double total = 0;
      for (size_t j = 0; j < keys; j++) {
        const auto at = static_cast<int64_t>(i) + seen.offset, key = static_cast<int64_t>(j);
        if ((seen.causal && key > at) || (seen.before >= 0 && key < at - seen.before)) continue;
        double score = 0;
        for (size_t f = 0; f < features; f++)
          score += a[(h * rows + i) * features + f] * b[(kh * keys + j) * features + f];
        weights[j] = std::exp(score / std::sqrt(static_cast<double>(features)));
        total += weights[j];
      }
      for (size_t f = 0; f < values; f++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++) sum += weights[j] * c[(kh * keys + j) * values + f];
        result.push_back(total == 0 ? 0 : sum / total);
      }
    }
  return result;
}

TEST(NnAttention, LongOnesAreComputedByParts) {
  // 2 x 4 heads of 2,600 queries and as many keys: two parts.
  const Tensor q = some({1, 8, 2600, 8}, 1), k = some({1, 4, 2600, 8}, 2),
               v = some({1, 4, 2600, 4}, 3);
  const Tensor y = nn::scaled_dot_product_attention(
      q, k, v, {.is_causal = true, .enable_gqa = true, .window = nn::AttentionWindow{50, {}}});
  expect_near(y, plain_attention(q, k, v, {true, 0, 50}), 2e-5);
}

TEST(NnAttention, ACacheOfKeys) {
  const Tensor k = some({2, 3, 9, 4}, 2), v = some({2, 3, 9, 4}, 3);
  for (const int64_t queries : {1, 2, 9}) {
    const Tensor q = some({2, 3, queries, 4}, 1);
    const Tensor y =
        nn::scaled_dot_product_attention(q, k, v, {.is_causal = true, .query_offset = 9 - queries});
    expect_near(y, plain_attention(q, k, v, {true, 9 - queries}), 1e-6);
  }
}

TEST(NnAttention, NothingToSee) {
  const Tensor q = some({2, 3, 4}, 1), v = some({2, 0, 5}, 3);
  EXPECT_EQ(doubles(nn::scaled_dot_product_attention(q, some({2, 0, 4}, 2), v)), Doubles(30, 0));
  const Tensor none =
      nn::scaled_dot_product_attention(some({2, 0, 4}, 1), some({2, 6, 4}, 2), some({2, 6, 5}, 3));
  EXPECT_EQ(none.shape(), (Shape{2, 0, 5}));
  // All keys come later than these queries.
  const Tensor early = nn::scaled_dot_product_attention(q, some({2, 6, 4}, 2), some({2, 6, 5}, 3),
                                                        {.is_causal = true, .query_offset = -9});
  EXPECT_EQ(doubles(early), Doubles(30, 0));
}

TEST(NnAttention, BatchesAreRepeated) {
  const Tensor q = some({3, 2, 5, 4}, 1), k = some({1, 2, 6, 4}, 2), v = some({2, 6, 4}, 3);
  const Tensor y = nn::scaled_dot_product_attention(q, k, v);
  const Tensor wide = nn::scaled_dot_product_attention(q, k.broadcast_to({3, 2, 6, 4}),
                                                       v.broadcast_to({3, 2, 6, 4}));
  EXPECT_EQ(doubles(y), doubles(wide));
  EXPECT_EQ(nn::attention_weights(q, k).shape(), (Shape{3, 2, 5, 6}));
  expect_near(ops::sum(nn::attention_weights(q, k), -1), Doubles(30, 1), 1e-6);
}

TEST(NnAttention, HalvesAreNotRoundedOnTheWay) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Tensor q = some({2, 7, 16}, 1, dtype), k = some({2, 9, 16}, 2, dtype),
                 v = some({2, 9, 8}, 3, dtype);
    const Tensor y = nn::scaled_dot_product_attention(q, k, v);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, plain_attention(q, k, v, {}), dtype == DType::F16 ? 0x1p-11 : 0x1p-8);
  }
}

TEST(NnAttention, Errors) {
  const Tensor q = some({2, 3, 4}, 1), k = some({2, 5, 4}, 2), v = some({2, 5, 4}, 3);
  const auto attend = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                          const nn::AttentionOptions& o = {}) {
    return [=] { nn::scaled_dot_product_attention(a, b, c, o); };
  };
  expect_refused(
      attend(q, some({2, 5, 3}, 2), v),
      "scaled_dot_product_attention: a key of shape [2, 5, 3] | Give the shape […, keys, 4].");
  expect_refused(
      attend(q, k, some({2, 6, 4}, 3)),
      "scaled_dot_product_attention: a value of shape [2, 6, 4] | Give the shape […, 5, value");
  expect_refused(attend(some({4, 3, 4}, 1), k, v),
                 "scaled_dot_product_attention: 4 heads of queries and 2 of keys");
  expect_refused(attend(some({3, 3, 4}, 1), k, v, {.enable_gqa = true}),
                 "scaled_dot_product_attention: 3 heads of queries and 2 of keys");
  expect_refused(attend(q, k, v, {.mask = ops::ones({3, 4})}),
                 "a tensor of shape [3, 4] cannot be repeated to [2, 3, 5]");
  expect_refused(attend(q, k, v, {.mask = ops::ones({3, 5}, DType::I32)}),
                 "scaled_dot_product_attention is not defined for i32");
  expect_refused(attend(q, k, v, {.dropout_p = 2}), "dropout: the probability is 2");
}

// --- seeds' functions

TEST(NnInto, OutputsAreTensorsSpansAndVectors) {
  const Tensor w = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3}),
               x = Tensor::from({1.f, 0.f, 2.f});
  Tensor tensor;
  std::vector<float> vector;
  float memory[2] = {};
  nn::matmul_vec_into(w, x, tensor);
  nn::matmul_vec_into(w, x, vector);
  nn::matmul_vec_into(w, x, std::span<float>(memory));
  EXPECT_EQ(doubles(tensor), (Doubles{7, 16}));
  EXPECT_EQ(vector, (std::vector<float>{7, 16}));
  EXPECT_EQ(memory[1], 16);
  nn::compute_attention_scores(x, w, vector, 0.5);
  EXPECT_EQ(vector, (std::vector<float>{3.5f, 8}));
  nn::weighted_sum_rows(Tensor::from({2.f, -1.f}), w, vector);
  EXPECT_EQ(vector, (std::vector<float>{-2, -1, 0}));
  std::vector<double> wide;
  expect_refused([&] { nn::matmul_vec_into(w, x, wide); },
                 "the tensor's elements are f32, not f64");
  float three[3];
  expect_refused([&] { nn::matmul_vec_into(w, x, std::span<float>(three)); },
                 "the tensor has 2 elements, the memory room for 3");
  expect_refused([&] { nn::matmul_vec_into(x, w, vector); },
                 "the product of shapes [3] and [2, 3] is not defined");
}

TEST(NnInto, SoftmaxInPlace) {
  std::vector<float> scores = {0, 0, 0, 0};
  nn::softmax_view(std::span<float>(scores).first(2));
  EXPECT_EQ(scores, (std::vector<float>{0.5f, 0.5f, 0, 0}));
  nn::softmax_view(scores);
  EXPECT_NEAR(scores[0] + scores[1] + scores[2] + scores[3], 1, 1e-6);
  Tensor x = ops::zeros({2, 4});
  nn::softmax_view(x, {{1, 2}, {1, 3}});
  EXPECT_EQ(doubles(x), (Doubles{0, 0, 0, 0, 0, 0.5, 0.5, 0}));
  nn::softmax_view(x);
  expect_near(ops::sum(x, -1), {1, 1}, 1e-6);
}

// --- what is one kernel

TEST(NnSteps, OneKernelWhereOneIsPromised) {
  const Tensor x = some({64, 96}, 1), w = some({96}, 2), b = some({96}, 3);
  EXPECT_EQ(steps_of(nn::layer_norm(x, {96}, {.weight = w, .bias = b})), 1);
  EXPECT_EQ(steps_of(nn::rms_norm(x, {96}, w)), 1);
  for (const auto pairs : {nn::RopePairs::Halves, nn::RopePairs::Interleaved}) {
    const Tensor angles = some({8, 8}, 2), heads = some({4, 8, 16}, 1);
    EXPECT_EQ(steps_of(nn::apply_rope(heads, angles, angles, pairs)), 1);
  }
  EXPECT_EQ(steps_of(nn::swiglu(x)), 1);
  EXPECT_EQ(steps_of(nn::dropout(x)), 1);
  const nn::BatchNorm trained =
      nn::batch_norm(some({8, 16, 6, 6}, 1), some({16}, 2), ops::ones({16}), {.training = true});
  // Means and squares of each image, then of each channel, and the result.
  EXPECT_LE(steps_of(trained.output), 5);
}

// --- edges

TEST(NnEdges, AxesOfNoElementsAndOne) {
  EXPECT_EQ(nn::linear(ops::ones({0, 3}), ops::ones({2, 3})).shape(), (Shape{0, 2}));
  EXPECT_EQ(doubles(nn::linear(ops::ones({2, 1, 0}), ops::ones({3, 0}), ops::ones({3}))),
            Doubles(6, 1));
  EXPECT_EQ(nn::layer_norm(ops::ones({0, 4}), {4}).shape(), (Shape{0, 4}));
  EXPECT_EQ(doubles(nn::layer_norm(ops::ones({2, 1}), {1})), Doubles(2, 0));
  EXPECT_EQ(nn::embedding(ops::zeros({0, 2}, DType::I64), ops::ones({3, 5})).shape(),
            (Shape{0, 2, 5}));
  EXPECT_EQ(nn::one_hot(ops::zeros({0}, DType::I64), 3).shape(), (Shape{0, 3}));
  EXPECT_EQ(nn::max_pool2d(ops::ones({0, 2, 4, 4}), 2).shape(), (Shape{0, 2, 2, 2}));
  EXPECT_EQ(nn::avg_pool2d(ops::ones({0, 2, 4, 4}), 2).shape(), (Shape{0, 2, 2, 2}));
  EXPECT_EQ(nn::conv1d(ops::ones({0, 2, 4}), ops::ones({3, 2, 2})).shape(), (Shape{0, 3, 3}));
  EXPECT_EQ(
      nn::conv_transpose2d(ops::ones({0, 2, 4, 4}), ops::ones({2, 3, 2, 2}), {.stride = 2}).shape(),
      (Shape{0, 3, 8, 8}));
  EXPECT_EQ(nn::group_norm(ops::ones({0, 4, 3}), 2).shape(), (Shape{0, 4, 3}));
  EXPECT_EQ(nn::glu(ops::ones({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(nn::pad(ops::ones({2, 3}), {}).shape(), (Shape{2, 3}));
  EXPECT_TRUE(std::isnan(nn::mse_loss(ops::ones({0}), ops::ones({0})).item<double>()));
  EXPECT_EQ(nn::mse_loss(ops::ones({0}), ops::ones({0}), nn::Reduction::Sum).item<double>(), 0);
}

TEST(NnEdges, IntegersAreComputedInF32) {
  const Tensor x = Tensor::from({-4, 0, 3}, {3});
  EXPECT_EQ(nn::relu6(x).dtype(), DType::F32);
  EXPECT_EQ(doubles(nn::hardsigmoid(x)), (Doubles{0, 0.5, 1}));
  EXPECT_EQ(nn::max_pool1d(x.unsqueeze(0), 2).dtype(), DType::I32);
  for (const DType dtype : {DType::I8, DType::U8, DType::I64, DType::U64})
    EXPECT_EQ(
        doubles(nn::max_pool2d(ops::ones({1, 4, 4}, dtype), 2, {.padding = 1, .dilation = 2})),
        Doubles(4, 1));
}

TEST(NnEdges, InfinitiesDoNotSpread) {
  // An infinite element is in its own windows only.
  Tensor x = ops::put(ops::zeros({1, 1, 7, 5}), {{}, {}, {0, 1}, {0, 1}}, INFINITY);
  for (const Tensor& y :
       {nn::adaptive_avg_pool2d(x, {3, 2}), nn::avg_pool2d(x, 2, {.ceil_mode = true}),
        nn::interpolate(x, {.size = {7, 5}, .mode = nn::Interpolation::Linear})}) {
    const Doubles values = doubles(y);
    EXPECT_EQ(std::count(values.begin(), values.end(), INFINITY), 1);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), static_cast<long>(values.size()) - 1);
  }
}

TEST(NnEdges, LargeLogits) {
  const Tensor x = Tensor::from({1e4f, -1e4f, 0.f, 3e38f, -3e38f, 0.f}, {2, 3});
  const Tensor t = Tensor::from({0, 0});
  EXPECT_EQ(doubles(nn::cross_entropy(x, t, {.reduction = nn::Reduction::None})), (Doubles{0, 0}));
  EXPECT_EQ(doubles(nn::logsigmoid(Tensor::from({-1e4f, 1e4f}))), (Doubles{-1e4, 0}));
}

TEST(NnDropout, DropsTheRightShare) {
  ops::seed(3);
  const Tensor x = ops::ones({200, 500});
  const Tensor y = nn::dropout(x, 0.25);
  const double kept = ops::mean((y != 0).to(DType::F32)).item<double>();
  EXPECT_NEAR(kept, 0.75, 0.01);
  EXPECT_NEAR(ops::max(y).item<double>(), 1 / 0.75, 1e-6);
  ops::seed(3);
  EXPECT_EQ(doubles(nn::dropout(x, 0.25)), doubles(y));
  EXPECT_EQ(doubles(nn::dropout(x, 1)), Doubles(100000, 0));
  EXPECT_EQ(doubles(nn::dropout(x, 0.5, false)), Doubles(100000, 1));
  // Whole channels.
  const Tensor channels =
      ops::mean(nn::dropout(ops::ones({10, 20, 3, 3}), 0.5, true, true), {2, 3});
  for (const double mean : doubles(channels))
    EXPECT_TRUE(mean == 0 || std::fabs(mean - 2) < 1e-6) << mean;
}

TEST(NnNormalization, ABatchIsNormalisedInThreeSteps) {
  for (const Shape& shape : {Shape{8, 16, 32, 32}, Shape{64, 3, 9, 7}, Shape{2, 256, 14, 14}}) {
    const int64_t channels = shape[1];
    const Tensor x = (some(shape, 1) * 3 + 1).eval(), mean = some({channels}, 2),
                 var = ops::ones({channels}).eval(), weight = some({channels}, 3),
                 bias = some({channels}, 4);
    const auto normalised = [&] {
      const nn::BatchNorm n = nn::batch_norm(
          x, mean, var, {.weight = weight, .bias = bias, .training = true, .momentum = 0.25});
      return std::vector<Tensor>{n.output, n.running_mean, n.running_var};
    };
    EXPECT_EQ(explain(normalised()).find("3 steps on "), 0u) << explain(normalised());
    std::vector<Tensor> together = normalised();
    eval(together);
    // The same bits as of each result by itself, and the numbers of the formula in f64.
    for (size_t i = 0; i < together.size(); i++)
      EXPECT_EQ(doubles(together[i]), doubles(normalised()[i].eval()));
    const Tensor wide = x.to(DType::F64);
    const Doubles right_mean = doubles(ops::mean(wide, {0, 2, 3})),
                  right_var = doubles(ops::var(wide, {0, 2, 3}, 1));
    for (size_t c = 0; c < static_cast<size_t>(channels); c++) {
      EXPECT_NEAR(doubles(together[1])[c], 0.75 * doubles(mean)[c] + 0.25 * right_mean[c], 1e-5);
      EXPECT_NEAR(doubles(together[2])[c], 0.75 + 0.25 * right_var[c], 1e-4);
    }
  }
}

TEST(NnOptimizers, StepsInACapturedGraph) {
  // The count of steps is a tensor: a captured step goes on counting.
  const Tensor p = some({5}, 1), g = some({5}, 2);
  const auto step = [&](const Tensor& parameter, nn::AdamState& state) {
    std::vector<Tensor> all = {parameter};
    nn::fused_adam_step(all, {g}, state, {.lr = 0.1});
    return all[0];
  };
  nn::AdamState plain;
  Tensor expected = step(step(step(p, plain), plain), plain);
  nn::AdamState state;
  Tensor now = step(p, state);
  const Graph graph = capture(
      [&](const Tensor& parameter, const Tensor& m, const Tensor& v, const Tensor& count) {
        nn::AdamState given = {{m}, {v}, {}, count};
        const Tensor next = step(parameter, given);
        return std::vector<Tensor>{next, given.exp_avg[0], given.exp_avg_sq[0], given.step};
      },
      now, state.exp_avg[0], state.exp_avg_sq[0], state.step);
  std::vector<Tensor> values = {now, state.exp_avg[0], state.exp_avg_sq[0], state.step};
  for (int i = 0; i < 2; i++) values = graph.launch(values[0], values[1], values[2], values[3]);
  EXPECT_EQ(doubles(values[0]), doubles(expected));
  EXPECT_EQ(values[3].item<double>(), 3);
}

// --- errors

TEST(NnErrors, IndicesOutsideAreErrorsOfTheReading) {
  const Tensor weight = some({4, 3}, 1);
  for (const int64_t index : {int64_t{4}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const Tensor at = Tensor::from({int64_t{0}, index});
    EXPECT_NE(message_of([&] { nn::embedding(at, weight).eval(); }), "nothing was thrown") << index;
    EXPECT_NE(message_of([&] { nn::one_hot(at, 4).eval(); }), "nothing was thrown") << index;
    EXPECT_NE(message_of([&] {
                nn::cross_entropy(weight.slice(0, {0, 2}).permute({0, 1}),
                                  Tensor::from({int64_t{0}, index < 0 ? index : 3}))
                    .eval();
              }),
              "nothing was thrown")
        << index;
  }
  EXPECT_NE(message_of([&] { nn::embedding(Tensor::from({int8_t{-1}}), weight).eval(); }),
            "nothing was thrown");
  // -100 is the index that does not count.
  EXPECT_EQ(message_of([&] {
              nn::cross_entropy(weight, Tensor::from({0, -100, 2, -100})).eval();
            }),
            "nothing was thrown");
}

TEST(NnErrors, ShapesAndNumbers) {
  const Tensor x = ops::ones({2, 3, 4, 4}), w = ops::ones({3, 4});
  expect_refused(
      [&] {
        nn::linear(w, ops::ones({2, 3}));
      },
      "linear: an input of shape [3, 4] | Give a tensor of the axes …, inputs, of which the weight "
      "has 3.");
  expect_refused(
      [&] {
        nn::linear(w, ops::ones({2, 4}), ops::ones({3}));
      },
      "linear: a bias of shape [3] | Give the shape [2].");
  expect_refused(
      [&] {
        nn::conv1d(x, ops::ones({2, 3, 3}));
      },
      "conv1d: an input of shape [2, 3, 4, 4]");
  expect_refused([&] { nn::conv2d(x, ops::ones({2, 2, 3, 3})); }, "conv2d: 3 channels in 1 groups");
  expect_refused(
      [&] {
        nn::conv2d(x, ops::ones({2, 3, 3, 3}),
                   {.stride = 2, .padding = nn::ConvPadding<2>::same()});
      },
      "conv2d: the stride is 2 | Use 1 with a padding of same().");
  expect_refused(
      [&] {
        nn::conv2d(x, ops::ones({2, 3, 5, 5}));
      },
      "conv2d: 5 elements of the kernel");
  expect_refused(
      [&] {
        nn::conv_transpose2d(x, ops::ones({3, 2, 3, 3}), {.output_padding = 1});
      },
      "conv_transpose2d: the output padding is 1 | Use less than the stride or the dilation.");
  expect_refused(
      [&] {
        nn::conv_transpose2d(x, ops::ones({2, 2, 3, 3}));
      },
      "conv_transpose2d: 3 channels in 1 groups");
  expect_refused([&] { nn::max_pool2d(x, 2, {.padding = 2}); }, "max_pool2d: the padding is 2");
  expect_refused([&] { nn::max_pool2d(x, 5); },
                 "max_pool2d: a window of 5 elements does not fit into the 4 of axis 2");
  expect_refused([&] { nn::avg_pool2d(x, 0); }, "avg_pool2d: the kernel is 0");
  expect_refused([&] { nn::avg_pool2d(x, 2, {.divisor_override = 0}); },
                 "avg_pool2d: the divisor is 0");
  expect_refused([&] { nn::batch_norm(x, {}, {}); },
                 "batch_norm needs the running mean and variance");
  expect_refused([&] { nn::batch_norm(x, ops::ones({4}), ops::ones({4})); },
                 "batch_norm: running mean of shape [4]");
  expect_refused(
      [&] {
        nn::batch_norm(ops::ones({1, 3}), {}, {}, {.training = true});
      },
      "batch_norm: 1 elements per channel are too few");
  expect_refused([&] { nn::layer_norm(x, {3}); }, "layer_norm: an input of shape [2, 3, 4, 4]");
  expect_refused([&] { nn::group_norm(x, 2); }, "group_norm: the number of groups is 2");
  expect_refused([&] { nn::glu(w, 0); }, "glu: axis 0 of length 3 has no halves");
  expect_refused(
      [&] {
        nn::rope(ops::ones({2, 3}));
      },
      "rope: the number of features that turn is 3");
  expect_refused([&] { nn::celu(w, 0); }, "celu: the alpha is 0");
  expect_refused([&] { nn::dropout(w, 1.5); }, "dropout: the probability is 1.5");
  expect_refused([&] { nn::prelu(w, ops::ones({3})); },
                 "prelu: a weight of shape [3] | Give the shape [1] or [4].");
  expect_refused([&] { nn::embedding(w, w); }, "embedding is not defined for f32");
  expect_refused([&] { nn::embedding(ops::zeros({2}, DType::I64), w, 3); },
                 "embedding: the padding index is 3");
  expect_refused([&] { nn::cross_entropy(w, ops::zeros({4}, DType::I64)); },
                 "cross_entropy: a target of shape [4]");
  expect_refused([&] { nn::cross_entropy(w, ops::zeros({3})); },
                 "cross_entropy is not defined for f32");
  expect_refused([&] { nn::mse_loss(w, ops::ones({4})); }, "mse_loss: a target of shape [4]");
  expect_refused([&] { nn::interpolate(x, {}); }, "interpolate needs one of size and scale_factor");
  expect_refused([&] { nn::interpolate(x, {.size = {0}}); },
                 "interpolate: the length of the result is 0");
  expect_refused([&] { nn::interpolate(x, {.size = {2}, .align_corners = true}); },
                 "interpolate needs a mode that aligns corners");
  expect_refused([&] { nn::pixel_shuffle(x, 2); }, "pixel_shuffle: an input of shape [2, 3, 4, 4]");
  expect_refused(
      [&] {
        nn::pad(x, {4, 0}, nn::PadMode::Reflect);
      },
      "pad: a padding of 4 on an axis of length 4 in mode Reflect");
  expect_refused([&] { nn::pad(x, {1}); }, "pad needs a number for each side");
  expect_refused([&] { nn::pad(x, {-3, -3}); }, "pad: a padding of -3 on an axis of length 4");
  std::vector<Tensor> parameters = {w};
  nn::AdamState state;
  expect_refused([&] { nn::fused_adam_step(parameters, {}, state); },
                 "fused_adam_step: 0 gradients for 1 parameters");
  expect_refused([&] { nn::fused_adam_step(parameters, {ops::ones({4})}, state); },
                 "fused_adam_step: a gradient of shape [4]");
}

}  // namespace
}  // namespace hologram
