// Mixed precision: what products give, overflows of f16 and how training goes on after them; and
// what `reproducible` and `deterministic` change.
#include "hologram/hologram.hpp"
#include "hologram/nn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "message_of.hpp"

namespace hologram {
namespace {

Tensor drawn(Shape shape, DType dtype = DType::F32) {
  return ops::randn(std::move(shape)).to(dtype);
}

TEST(Precision, ProductsKeepTheirSumsWhereAsked) {
  ops::seed(3);
  for (const DType half : {DType::F16, DType::BF16}) {
    for (const auto& [rows, terms, columns] : {std::tuple(5, 300, 7), std::tuple(1, 64, 9),
                                               std::tuple(9, 64, 1), std::tuple(33, 1, 65)}) {
      const Tensor a = drawn({rows, terms}, half), b = drawn({terms, columns}, half);
      const Tensor kept = ops::matmul(a, b, DType::F32);
      ASSERT_EQ(kept.dtype(), DType::F32);
      // By f64, whose sums are all but exact.
      const auto right = ops::matmul(a.to(DType::F64), b.to(DType::F64)).to_vector<double>();
      const auto values = kept.to_vector<float>();
      const auto most =
          ops::matmul(ops::abs(a.to(DType::F64)), ops::abs(b.to(DType::F64))).to_vector<double>();
      for (size_t i = 0; i < values.size(); i++)
        EXPECT_NEAR(values[i], right[i], 0x1p-20 * most[i]) << rows << ' ' << terms;
      EXPECT_EQ(ops::matmul(a, b, half).dtype(), half);
      EXPECT_EQ(nn::linear(a, b.transpose(), {}, nn::Activation::Relu, DType::F32).dtype(),
                DType::F32);
    }
  }
  // Sums beyond the range of f16 are infinite only where they are rounded to it.
  const Tensor large = ops::full({4, 64}, 100, DType::F16);
  EXPECT_EQ(ops::matmul(large, large.transpose(), DType::F32).to_vector<float>()[0], 640000);
  EXPECT_TRUE(
      std::isinf(ops::matmul(large, large.transpose()).to(DType::F32).to_vector<float>()[0]));
  EXPECT_NE(message_of([&] {
              ops::matmul(large, large.transpose(), DType::F64);
            }).find("a product of f16 to f64"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              ops::matmul(drawn({2, 2}), drawn({2, 2}), DType::F16);
            }).find("a product of f32 to f16"),
            std::string::npos);
}

TEST(Precision, GradientsOfKeptSumsHaveTheFactorsDType) {
  const Tensor x = drawn({6, 8}, DType::F16), w = drawn({8, 3}, DType::F16);
  const auto g =
      gradient([](const Tensor& a,
                  const Tensor& b) { return ops::sum(ops::square(ops::matmul(a, b, DType::F32))); },
               x, w);
  EXPECT_EQ(g[0].dtype(), DType::F16);
  const auto wide = gradient(
      [](const Tensor& a, const Tensor& b) { return ops::sum(ops::square(ops::matmul(a, b))); },
      x.to(DType::F32), w.to(DType::F32));
  const Tensor apart =
      ops::max(ops::abs(g[1].to(DType::F32) - wide[1])) / ops::max(ops::abs(wide[1]));
  EXPECT_LT(apart.item<float>(), 4e-3f);
}

struct Net : nn::Module {
  nn::Conv2d conv{1, 4, 3, {.padding = 1}};
  nn::LayerNorm norm{Shape{64}};
  nn::Linear first{64, 32}, second{32, 3};
  Net() {
    register_modules({{"conv", &conv}, {"norm", &norm}, {"first", &first}, {"second", &second}});
  }
  Tensor forward(const Tensor& x) override {
    const Tensor h = norm(nn::relu(conv(x)).reshape({x.size(0), 64}));
    return second(nn::gelu(first(h)));
  }
};

struct Batch {
  Tensor x, y;
  Batch() {
    ops::seed(5);
    x = ops::randn({48, 1, 4, 4}).eval();
    y = ops::argmax(ops::stack({ops::sum(x, {1, 2, 3}), x.select(3, 0).select(2, 0).select(1, 0),
                                -x.select(3, 1).select(2, 1).select(1, 0)},
                               1),
                    1)
            .eval();
  }
};

double loss_after(int steps, const std::optional<nn::MixedPrecision>& precision,
                  nn::Adam* = nullptr) {
  const Batch batch;
  ops::seed(7);
  Net net;
  nn::AdamW optimizer(net, {.lr = 1e-2});
  optimizer.precision = precision;
  Tensor loss;
  for (int i = 0; i < steps; i++)
    loss = optimizer.step([&] { return nn::cross_entropy(net(batch.x), batch.y); });
  EXPECT_EQ(loss.dtype(), DType::F32);
  for (const Tensor* p : net.parameters()) EXPECT_EQ(p->dtype(), DType::F32);
  return loss.item<double>();
}

TEST(Precision, TrainsAsFarAsF32) {
  const double right = loss_after(60, {});
  EXPECT_LT(right, 0.4);
  for (const DType half : {DType::F16, DType::BF16})
    for (const DType results : {DType::F32, half})
      EXPECT_NEAR(loss_after(60, nn::MixedPrecision{.compute = half, .accumulate = results}), right,
                  0.1 * right + 0.02)
          << name_of(half) << ' ' << name_of(results);
  EXPECT_NEAR(loss_after(60, nn::MixedPrecision{.compute = DType::BF16, .scale = {}}), right,
              0.1 * right + 0.02);
}

TEST(Precision, StepsThatOverflowChangeNothingButTheScale) {
  const Batch batch;
  ops::seed(7);
  Net net;
  nn::AdamW optimizer(net, {.lr = 1e-2});
  // Cotangents of f16 end at 65504.
  optimizer.precision =
      nn::MixedPrecision{.scale = nn::LossScale{.initial = 0x1p40, .interval = 20}};
  const auto step = [&] {
    return optimizer.step([&] { return nn::cross_entropy(net(batch.x), batch.y); }).item<double>();
  };
  const auto weights = net.first.weight.to_vector<float>();
  const double first = step();
  EXPECT_EQ(optimizer.scaling.skipped.item<int64_t>(), 1);
  EXPECT_EQ(optimizer.scaling.scale.item<float>(), 0x1p39f);
  EXPECT_EQ(net.first.weight.to_vector<float>(), weights);
  EXPECT_EQ(optimizer.state.step.item<float>(), 0);
  EXPECT_EQ(step(), first);
  double last = first;
  for (int i = 0; i < 70; i++) last = step();
  const auto skipped = optimizer.scaling.skipped.item<int64_t>();
  EXPECT_GT(skipped, 10);
  EXPECT_LT(skipped, 45);
  EXPECT_EQ(optimizer.state.step.item<float>(), 72 - static_cast<float>(skipped));
  EXPECT_LT(last, first / 2);
  // It has risen again, once there were so many good steps.
  EXPECT_GT(optimizer.scaling.scale.item<float>(), 1);
}

// A training that was stopped and goes on from a file has the bits of one that was not.
TEST(Precision, TrainingGoesOnFromAFile) {
  const Batch batch;
  const auto path = testing::TempDir() + "hologram-training.safetensors";
  const auto run = [&](Net& net, nn::Optimizer& optimizer, int steps) {
    double loss = 0;
    for (int i = 0; i < steps; i++)
      loss =
          optimizer.step([&] { return nn::cross_entropy(net(batch.x), batch.y); }).item<double>();
    return loss;
  };
  const nn::MixedPrecision f16 = {.scale = nn::LossScale{.initial = 0x1p20, .interval = 3}};
  ops::seed(7);
  Net whole;
  nn::AdamW of_whole(whole, {.lr = 1e-2});
  of_whole.precision = f16;
  run(whole, of_whole, 5);
  of_whole.save(path);
  const double right = run(whole, of_whole, 5);
  Net again;
  nn::AdamW of_again(again, {.lr = 1e-2});
  of_again.precision = f16;
  of_again.load(path);
  EXPECT_EQ(run(again, of_again, 5), right);
  EXPECT_EQ(again.first.weight.to_vector<float>(), whole.first.weight.to_vector<float>());
  EXPECT_EQ(of_again.scaling.scale.item<float>(), of_whole.scaling.scale.item<float>());
  // Of another optimizer, of another model, damaged.
  nn::Sgd other(again, {.momentum = 0.9});
  EXPECT_NE(message_of([&] { other.load(path); }).find("the optimizer has no: optimizer.exp_avg"),
            std::string::npos);
  nn::Linear small(3, 3);
  nn::AdamW of_small(small);
  EXPECT_NE(message_of([&] { of_small.load(path); }).find("it has no: optimizer.exp_avg.weight"),
            std::string::npos);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  EXPECT_NE(message_of([&] { of_again.load(path); }).find("is not a valid safetensors file"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST(Precision, OnlyF16AndBF16) {
  EXPECT_NE(message_of([] { nn::Precision({.compute = DType::F64}); }).find("f16 or bf16"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              nn::Precision({.compute = DType::F16, .accumulate = DType::BF16});
            }).find("f32, or the dtype that is computed in"),
            std::string::npos);
  // What was in force before is so afterwards.
  const Tensor a = drawn({4, 4});
  const nn::Precision outer({.compute = DType::BF16, .accumulate = DType::BF16});
  { const nn::Precision inner({.compute = DType::F16}); }
  EXPECT_EQ(ops::matmul(a, a).dtype(), DType::BF16);
  EXPECT_EQ(ops::matmul(a.to(DType::F64), a).dtype(), DType::F64);
}

TEST(Reproducible, NoLibraryComputesAnything) {
  const Executor on = Executor::builder().backend(BackendType::Cpu).reproducible().build();
  const Tensor images = Tensor::from(drawn({2, 9, 9, 8}).array(), on),
               weights = Tensor::from(drawn({3, 3, 8, 16}).array(), on);
  const std::string plan = explain(ops::conv2d(images, weights));
  EXPECT_EQ(plan.find("oneDNN"), std::string::npos) << plan;
  const Tensor square = Tensor::from(drawn({5, 5}).array(), on);
  EXPECT_NE(message_of([&] { linalg::inv(square).array(); }).find("which reproducible forbids"),
            std::string::npos);
  EXPECT_TRUE(on.config().reproducible);
}

// Products, convolutions and attention of every kind of float, as f32.
std::vector<float> many_sums(const Executor& on) {
  std::vector<float> all;
  const auto add = [&](const Tensor& t) {
    const auto values = t.to(DType::F32).to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  };
  ops::seed(2, on);
  const auto draw = [&](Shape shape) { return ops::randn(std::move(shape), DType::F32, on); };
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    const Tensor a = draw({37, 600}).to(dtype), b = draw({600, 45}).to(dtype);
    add(ops::matmul(a, b));
    add(ops::matmul(a, b, DType::F32));
    add(ops::matmul(b.transpose(), a.transpose()));
    const Tensor x = draw({2, 11, 10, 12}).to(dtype), w = draw({3, 3, 12, 9}).to(dtype);
    add(ops::conv2d(x, w, {.stride = 2, .padding = 1}));
    add(ops::conv2d(x, draw({3, 3, 1, 12}).to(dtype), {.padding = 1, .groups = 12}));
    const Tensor q = draw({2, 2, 9, 16}).to(dtype);
    add(nn::scaled_dot_product_attention(q, q, q, {.is_causal = true}));
  }
  return all;
}

std::vector<float> sums_on_the_processor(void (*more)(ExecutorBuilder&)) {
  auto builder = Executor::builder().backend(BackendType::Cpu).reproducible();
  more(builder);
  return many_sums(builder.build());
}

// The same bits by what a processor has for it, and by the programs alone.
TEST(Reproducible, ProductsAndConvolutionsHaveOneOrder) {
  const auto how = sums_on_the_processor;
  const auto first = how([](ExecutorBuilder& b) { b.threads(1).jit(Jit::Off); });
  EXPECT_EQ(how([](ExecutorBuilder& b) { b.threads(2); }), first);
  EXPECT_EQ(how([](ExecutorBuilder& b) { b.jit(Jit::Always); }), first);
  EXPECT_EQ(how([](ExecutorBuilder& b) { b.simd(false); }), first);
  // Programs alone: neither packed kernels nor loops.
  EXPECT_EQ(how([](ExecutorBuilder& b) { b.check(); }), first);
}

TEST(Reproducible, OpenClHasTheProcessorsBits) {
  std::optional<Executor> on;
  try {
    on = Executor::builder().backend(BackendType::OpenCl).reproducible().build();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(many_sums(*on), sums_on_the_processor([](ExecutorBuilder&) {})) << on->device().name;
}

}  // namespace
}  // namespace hologram
