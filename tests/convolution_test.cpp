// Convolutions as users meet them, and hologram's own program for them in all its forms; what they
// compute, tests/semantics and the conformance suite hold against plain loops.
#include "libraries/convolution.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "backends/cpu/cpu.hpp"
#include "graph/view.hpp"
#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/graph.hpp"
#include "hologram/ops.hpp"
#include "libraries/packed/depthwise.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

using libraries::ConvLaunch;

std::vector<float> some(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = uniform(random);
  return values;
}

// A convolution of dense images by the program of a launch.
class Own {
 public:
  explicit Own(const hal::ConvDesc& desc) : desc_(desc) {
    x_ = some(desc.batch * desc.rows.input * desc.x_strides[1], 1);
    w_ = some(desc.rows.kernel * desc.w_strides[0], 2);
    d_.resize(static_cast<size_t>(desc.batch * desc.rows.output * desc.columns.output *
                                  desc.outputs * desc.groups));
  }
  // Element i of the result in double.
  double expected(size_t i) const {
    const hal::ConvDesc& d = desc_;
    const auto at = static_cast<int64_t>(i);
    const int64_t given = d.outputs * d.groups, o = at % given,
                  column = at / given % d.columns.output,
                  row = at / given / d.columns.output % d.rows.output,
                  n = at / given / d.columns.output / d.rows.output;
    double sum = 0;
    for (int64_t k = 0; k < d.rows.kernel; k++)
      for (int64_t j = 0; j < d.columns.kernel; j++) {
        const int64_t y = row * d.rows.stride + k - d.rows.before,
                      x = column * d.columns.stride + j - d.columns.before;
        if (y < 0 || y >= d.rows.input || x < 0 || x >= d.columns.input) continue;
        for (int64_t c = 0; c < d.channels; c++)
          sum +=
              double{x_[static_cast<size_t>(n * d.x_strides[0] + y * d.x_strides[1] +
                                            x * d.x_strides[2] + o / d.outputs * d.channels + c)]} *
              double{w_[static_cast<size_t>(k * d.w_strides[0] + j * d.w_strides[1] +
                                            c * d.w_strides[2] + o)]};
      }
    return sum;
  }

  std::vector<float> run(const ConvLaunch& own, bool races) {
    const auto executable =
        device_->compile(libraries::convolution_program(own.key), {.check = races});
    const std::vector<hal::Binding> bindings = operands();
    hal::Launch launch;
    launch.executable = executable.get();
    launch.grid = own.grid;
    launch.bindings = bindings;
    launch.scalars = own.scalars;
    const auto stream = device_->stream();
    stream->launch(launch);
    stream->wait(stream->submit(), {});
    return d_;
  }
  std::vector<float> run(const libraries::HostPlan& plan, core::Threads& threads) {
    plan.run(operands(), {}, threads);
    return d_;
  }

 private:
  // The result's memory has nothing of it yet.
  std::vector<hal::Binding> operands() {
    std::fill(d_.begin(), d_.end(), -99.0f);
    std::vector<hal::Binding> bindings;
    buffers_.clear();
    for (std::vector<float>* v : {&x_, &w_, &d_}) {
      const uint64_t bytes = v->size() * sizeof(float);
      buffers_.push_back(device_->adopt(reinterpret_cast<std::byte*>(v->data()), bytes));
      bindings.push_back({buffers_.back().get(), 0, bytes});
    }
    return bindings;
  }

  std::shared_ptr<hal::Device> device_ =
      std::get<std::shared_ptr<hal::Device>>(backends::cpu::backend().open(0, BackendConfig{}));
  hal::ConvDesc desc_;
  std::vector<float> x_, w_, d_;
  std::vector<std::unique_ptr<hal::Buffer>> buffers_;
};

hal::ConvDesc describe(int64_t groups, int64_t channels, int64_t outputs) {
  hal::ConvDesc d;
  d.x = d.w = d.d = d.accumulate = DType::F32;
  d.batch = 2;
  d.groups = groups;
  d.channels = channels;
  d.outputs = outputs;
  d.rows = {.input = 7, .kernel = 3, .output = 7, .before = 1};
  d.columns = {.input = 11, .kernel = 3, .output = 6, .stride = 2, .before = 1};
  const int64_t all = channels * groups, given = outputs * groups;
  d.x_strides = {7 * 11 * all, 11 * all, all, 1};
  d.w_strides = {3 * channels * given, channels * given, given, 1};
  return d;
}

// Whichever way lanes lie, however many each computes, and with either type of indices.
TEST(Convolution, EveryScheduleHasTheSameBits) {
  for (const auto& [groups, channels, outputs] :
       {std::array<int64_t, 3>{1, 70, 33}, {3, 2, 5}, {40, 1, 1}}) {
    const hal::ConvDesc desc = describe(groups, channels, outputs);
    Own own(desc);
    const ConvLaunch chosen = libraries::convolution_launch(desc, 0, 0);
    const std::vector<float> first = own.run(chosen, false);
    for (size_t i = 0; i < first.size(); i++) ASSERT_NEAR(first[i], own.expected(i), 1e-4) << i;
    for (const bool along_columns : {false, true})
      for (const uint8_t times : {1, 3, 8})
        for (const bool wide : {false, true}) {
          ConvLaunch other = chosen;
          other.key.along_columns = along_columns;
          other.key.times = times;
          other.key.wide = wide;
          other.key.lanes = 1;
          const int64_t along = along_columns ? desc.columns.output : outputs * groups,
                        others = along_columns ? outputs : desc.columns.output;
          other.grid = {static_cast<uint64_t>((along + 31) / 32),
                        static_cast<uint64_t>((others + times - 1) / times * desc.rows.output *
                                              (along_columns ? groups : 1)),
                        2};
          EXPECT_EQ(own.run(other, times == 3), first)
              << groups << ' ' << along_columns << ' ' << int{times} << ' ' << wide;
        }
  }
}

// The processor's own way of convolutions of each channel by itself, whatever lies outside.
TEST(Convolution, DepthwiseHasTheBitsOfTheProgram) {
  const libraries::packed::DepthwiseKernel* const kernel = libraries::packed::depthwise_kernel();
  if (kernel == nullptr) GTEST_SKIP() << "this processor has no fused multiply-add";
  std::mt19937 random(7);
  const auto up_to = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int n = 0; n < 300; n++) {
    hal::ConvDesc desc = describe(kernel->least + up_to(70) - 1, 1, 1);
    desc.batch = up_to(2);
    for (hal::ConvAxis* a : {&desc.rows, &desc.columns})
      *a = {.input = up_to(20),
            .kernel = up_to(5),
            .output = up_to(24),
            .stride = up_to(3),
            .dilation = up_to(2),
            .before = up_to(6) - 1};
    if (n % 3 == 0) desc.columns.stride = desc.columns.dilation = 1;
    if (n % 2 == 0) desc.columns.kernel = 3;
    const int64_t pixel = desc.groups + n % 4, row = desc.columns.input * pixel + n % 5;
    desc.x_strides = {desc.rows.input * row, row, pixel, 1};
    desc.w_strides = {desc.columns.kernel * desc.groups, desc.groups, desc.groups, 1};
    ASSERT_TRUE(libraries::packed::takes(desc));
    Own own(desc);
    core::Threads threads(n % 3 + 1);
    const std::vector<float> by_program = own.run(libraries::convolution_launch(desc, 0, 0), false);
    ASSERT_EQ(own.run(*libraries::packed::plan(desc), threads), by_program) << n;
  }
}

// Planes have their neighbours along a row.
TEST(Convolution, LanesLieAlongNeighbours) {
  hal::ConvDesc desc = describe(1, 16, 64);
  desc.columns = {.input = 112, .kernel = 3, .output = 110};
  EXPECT_FALSE(libraries::convolution_launch(desc, 0, 0).key.along_columns);
  EXPECT_FALSE(libraries::convolution_launch(desc, 0, 0).key.padded);
  desc.x_strides = {16 * 7 * 112, 112, 1, 7 * 112};
  desc.w_strides = {3, 1, 9, 16 * 9};
  EXPECT_TRUE(libraries::convolution_launch(desc, 0, 0).key.along_columns);
  desc.batch = 1 << 20;
  EXPECT_TRUE(libraries::convolution_launch(desc, 0, 0).key.wide);
}

Tensor values(Shape shape, uint32_t seed) {
  return Tensor::from_vector(some(graph::element_count(shape), seed), shape);
}

TEST(Convolution, BothOrdersOfTheAxesGiveTheSame) {
  const Tensor x = values({2, 9, 8, 6}, 3), w = values({3, 2, 3, 4}, 4), bias = values({4}, 5);
  ops::Conv2d how{.stride = {1, 2}, .padding = {1, 0, 2, 1}, .groups = 2, .bias = bias};
  const Tensor y = ops::conv2d(x, w, how);
  how.layout = ops::ImageLayout::Nchw;
  const Tensor planes =
      ops::conv2d(x.permute({0, 3, 1, 2}), w.permute({3, 2, 0, 1}), how).permute({0, 2, 3, 1});
  EXPECT_EQ(y.shape(), (Shape{2, 8, 5, 4}));
  EXPECT_EQ(y.to_vector<float>(), planes.to_vector<float>());
}

// With a bias, f16 is rounded once: 2049 + 0.75 is 2050, and 2048 + 0.75 would be 2048.
TEST(Convolution, ABiasIsAddedBeforeTheResultIsRounded) {
  const Tensor x = Tensor::from({2048.0f, 1.0f}, {1, 1, 1, 2}).to(DType::F16),
               w = ops::ones({1, 1, 2, 1}, DType::F16), bias = Tensor::from({0.75f}).to(DType::F16);
  const Tensor y = ops::conv2d(x, w, {.bias = bias});
  EXPECT_EQ(y.dtype(), DType::F16);
  EXPECT_EQ(y.to(DType::F32).item<float>(), 2050);
}

TEST(Convolution, WeightsMayChangeBetweenLaunchesOfACapture) {
  const Tensor x = values({1, 6, 6, 3}, 6);
  const Graph step =
      capture([&](const Tensor& w) { return ops::conv2d(x, w * 2); }, values({3, 3, 3, 8}, 7));
  const Graph plain =
      capture([&](const Tensor& w) { return ops::conv2d(x, w); }, values({3, 3, 3, 8}, 7));
  for (const uint32_t seed : {8u, 9u, 8u}) {
    const Tensor w = values({3, 3, 3, 8}, seed);
    EXPECT_EQ(step.launch(w)[0].to_vector<float>(), ops::conv2d(x, w * 2).to_vector<float>());
    EXPECT_EQ(plain.launch(w)[0].to_vector<float>(), ops::conv2d(x, w).to_vector<float>());
  }
}

// Whoever computes it brings weights into an order of its own at most once.
TEST(Convolution, WeightsArePreparedOnce) {
  const Tensor w = values({3, 3, 16, 8}, 7), x = values({1, 6, 6, 16}, 1);
  const auto calls = [&](const Tensor& image) {
    const uint64_t before = image.executor().counters().library_calls;
    ops::conv2d(image, w, {.padding = 1}).eval();
    return image.executor().counters().library_calls - before;
  };
  if (calls(x) == 0) GTEST_SKIP() << "no library computes convolutions here";
  EXPECT_EQ(calls(x), 1u);
  EXPECT_EQ(calls(x * 2), 1u);
  EXPECT_EQ(calls(values({3, 6, 6, 16}, 2)), 1u);
}

// However the library's work is cut into tiles.
TEST(Convolution, TheBitsAreTheSameOnAnyNumberOfThreads) {
  struct Case {
    int64_t batch, side, channels, outputs, kernel;
    ops::Conv2d how;
  };
  const Case cases[] = {
      {1, 44, 32, 48, 3, {.padding = 1}},
      {1, 57, 64, 64, 3, {.padding = 1, .groups = 64}},
      {3, 29, 64, 64, 3, {.padding = 1, .groups = 64}},
      {1, 14, 64, 64, 3, {.stride = 2, .padding = 1}},
      {1, 15, 64, 64, 1, {}},
      {2, 33, 16, 20, 1, {.stride = 2}},
      {1, 40, 8, 24, 5, {.padding = 4, .dilation = 2}},
      {1, 31, 32, 64, 3, {.stride = 2, .padding = 1, .groups = 2}},
      {1, 23, 3, 16, 7, {.stride = 2, .padding = 3}},
      {1, 9, 7, 5, 3, {.padding = 2, .layout = ops::ImageLayout::Nchw}},
  };
  for (const Case& c : cases) {
    const bool planes = c.how.layout == ops::ImageLayout::Nchw;
    const int64_t depth = c.channels / c.how.groups;
    const Shape images = planes ? Shape{c.batch, c.channels, c.side, c.side}
                                : Shape{c.batch, c.side, c.side, c.channels},
                weights = planes ? Shape{c.outputs, depth, c.kernel, c.kernel}
                                 : Shape{c.kernel, c.kernel, depth, c.outputs};
    const std::vector<float> image = some(c.batch * c.side * c.side * c.channels, 1),
                             weight = some(c.kernel * c.kernel * depth * c.outputs, 2);
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 5, 16}) {
      const Executor executor =
          Executor::builder().backend(BackendType::Cpu).threads(threads).build();
      const Tensor x = Tensor::from_vector(image, images, executor),
                   w = Tensor::from_vector(weight, weights, executor);
      std::vector<float> result = ops::conv2d(x, w, c.how).to_vector<float>();
      if (first.empty()) first = std::move(result);
      else EXPECT_EQ(result, first) << to_string(images) << " " << threads << " threads";
    }
  }
}

// The memory of a tensor that is let go is used again for the one that takes its name.
TEST(Convolution, WeightsThatAreUpdatedInPlaceAreSeen) {
  const Tensor x = values({1, 6, 6, 3}, 6);
  Tensor w = values({3, 3, 3, 8}, 7) + 0;
  w.eval();
  for (int round = 0; round < 3; round++) {
    const std::vector<float> own = w.to_vector<float>();
    const Tensor same = Tensor::from_vector(own, w.shape());
    EXPECT_EQ(ops::conv2d(x, w).to_vector<float>(), ops::conv2d(x, same).to_vector<float>());
    w += 1;
    w.eval();
  }
}

TEST(Convolution, MistakesAreErrorsOfTheCall) {
  const Tensor x = ops::ones({1, 5, 6, 4}), w = ops::ones({3, 3, 4, 8});
  const auto refusal = [&](const Tensor& image, const Tensor& weight, const ops::Conv2d& how) {
    return message_of([&] { ops::conv2d(image, weight, how); });
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal(ops::ones({5, 6}), w, {}), "batch, height, width, channels");
  expect(refusal(x, ops::ones({3, 3, 8}), {.layout = ops::ImageLayout::Nchw}),
         "outputs, channels / groups, height, width");
  expect(refusal(x, ops::ones({3, 3, 5, 8}), {}), "4 channels in 1 groups");
  expect(refusal(x, w, {.groups = 3}), "4 channels in 3 groups");
  expect(refusal(x, w, {.groups = 0}), "the number of groups is 0");
  expect(refusal(x, w, {.stride = {1, 0}}), "the stride of the width is 0");
  expect(refusal(x, w, {.padding = -1}), "the padding is -1");
  expect(refusal(x, w, {.dilation = 3}), "more than the 5 of the height axis");
  expect(refusal(x, ops::ones({0, 3, 4, 8}), {}), "the kernel's height is 0");
  expect(refusal(x, w, {.bias = ops::ones({4})}), "one number an output: shape [8]");
  expect(refusal(x.to(DType::U64), w.to(DType::I8), {}), "no dtype holds both u64 and i8");
}

TEST(Convolution, PoolingReducesWindows) {
  const Tensor x = ops::arange(16).reshape({1, 4, 4, 1}).to(DType::F32);
  const auto numbers = [](const Tensor& t) { return t.to_vector<float>(); };
  EXPECT_EQ(numbers(ops::max_pool2d(x)), (std::vector<float>{5, 7, 13, 15}));
  EXPECT_EQ(numbers(ops::avg_pool2d(x)), (std::vector<float>{2.5, 4.5, 10.5, 12.5}));
  EXPECT_EQ(numbers(ops::max_pool2d(x * -1, {.kernel = 3, .stride = 2, .padding = 1})),
            (std::vector<float>{0, -1, -4, -5}));
  // Padding does not count, unless it is asked to.
  EXPECT_EQ(numbers(ops::avg_pool2d(x + 1, {.kernel = 2, .padding = 1})),
            (std::vector<float>{1, 2.5, 4, 7, 8.5, 10, 13, 14.5, 16}));
  EXPECT_EQ(ops::avg_pool2d(x + 1, {.kernel = 2, .padding = 1, .count_include_pad = true})
                .to_vector<float>()[0],
            0.25f);
  EXPECT_NE(message_of([&] { ops::max_pool2d(x, {.padding = 2}); }).find("padding of 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { ops::max_pool2d(ops::ones({4})); }).find("height, width, channels"),
            std::string::npos);
}

TEST(Convolution, ExpressionsKnowIt) {
  const Expression::Inputs inputs = {{"x", values({2, 6, 5, 4}, 1)},
                                     {"w", values({3, 3, 4, 8}, 2)},
                                     {"d", values({3, 3, 1, 4}, 3)},
                                     {"b", values({8}, 4)}};
  const auto value = [&](const std::string& text) {
    const Expression e = Expression::parse(text);
    Expression::Inputs needed;
    for (const std::string& name : e.inputs()) needed.insert(*inputs.find(name));
    return e.evaluate(needed).back().second;
  };
  const Tensor x = inputs.at("x").tensor(), w = inputs.at("w").tensor(),
               depthwise = inputs.at("d").tensor(), bias = inputs.at("b").tensor();
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.to_vector<float>() == b.to_vector<float>();
  };
  EXPECT_TRUE(same(value("conv2d(x, w, stride=2, padding=1)"),
                   ops::conv2d(x, w, {.stride = 2, .padding = 1})));
  EXPECT_TRUE(same(value("conv2d(x, w, b, stride=[2, 1], padding=[0, 1, 2, 0])"),
                   ops::conv2d(x, w, {.stride = {2, 1}, .padding = {0, 1, 2, 0}, .bias = bias})));
  EXPECT_TRUE(same(value("conv2d(x, d, groups=4, same=true)"),
                   ops::conv2d(x, depthwise, {.padding = ops::Padding2d::same(), .groups = 4})));
  EXPECT_TRUE(
      same(value("conv2d(permute(x, [0, 3, 1, 2]), permute(w, [3, 2, 0, 1]), channels_first=true)"),
           ops::conv2d(x, w).permute({0, 3, 1, 2})));
}

// A library may keep weights in an order of its own from one launch to the next.
TEST(Convolution, LaunchesSeeWeightsThatChange) {
  const Tensor x = values({2, 9, 8, 16}, 1);
  for (const Shape& shape : {Shape{3, 3, 16, 20}, Shape{3, 3, 1, 16}}) {
    std::vector<Tensor> weights;
    for (uint32_t i = 0; i < 3; i++) weights.push_back(values(shape, 2 + i));
    const int64_t groups = 16 / shape[2];
    const auto run = [&](const Tensor& x, const Tensor& w) {
      return ops::conv2d(x, w, {.padding = 1, .groups = groups});
    };
    const Graph graph =
        capture([&](const Tensor& x, const Tensor& w) { return run(x, w); }, x, weights[0]);
    std::vector<std::vector<float>> expected;
    expected.reserve(weights.size());
    for (const Tensor& w : weights) expected.push_back(run(x, w).to_vector<float>());
    for (const size_t i : {0, 0, 1, 1, 1, 2, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0, 0})
      EXPECT_EQ(graph.launch({x, weights[i]}).front().to_vector<float>(), expected[i]) << i;
    // In the same memory, too.
    Tensor changing = weights[0] + 0;
    changing.eval();
    for (int i = 0; i < 12; i++) {
      EXPECT_EQ(graph.launch({x, changing}).front().to_vector<float>(),
                run(x, changing).to_vector<float>())
          << i;
      if (i % 4 == 3) changing = (changing + 1).eval();
    }
  }
}

TEST(Convolution, TakesWeightsThatGoBackwards) {
  const Tensor x = values({2, 9, 8, 6}, 1);
  for (const int64_t groups : {1, 2, 6})
    for (const bool changes_channels : {false, true}) {
      Tensor w = changes_channels ? values({3, 3, 12, 6 / groups}, 2).permute({0, 1, 3, 2})
                                  : values({3, 3, 6 / groups, 12}, 2);
      w = w.flip({0, 1});
      const ops::Conv2d options = {.padding = 1, .groups = groups};
      const std::vector<float> got = ops::conv2d(x, w, options).to_vector<float>(),
                               expected = ops::conv2d(x, ops::copy(w), options).to_vector<float>();
      for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], expected[i], 1e-5f) << i;
    }
}

}  // namespace
}  // namespace hologram
