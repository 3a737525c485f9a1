// Graphs say what was meant; what that is made of is decided when it is computed, once for all
// graphs of one structure.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "hologram/hologram.hpp"
#include "on_device.hpp"
#include "runtime/executor_state.hpp"
#include "tensor/access.hpp"

namespace hologram {
namespace {

Tensor numbers(const Shape& shape, const Executor& executor, int64_t first = 0) {
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  return (ops::arange(first, first + count, 1, DType::F32, executor).reshape(shape) % 7.0).eval();
}

bool close(const Tensor& a, const Tensor& b, double relative) {
  return ops::allclose(a, b, relative).item<bool>();
}

// Of everything that is a node of its own.
std::vector<Tensor> of_all(const Tensor& x, const Tensor& w, const Tensor& image,
                           const Tensor& kernel) {
  const Tensor rows = ops::softmax(ops::matmul(x, w), -1);
  const Tensor pixels = ops::conv2d(image, kernel, {.layout = ops::ImageLayout::Nhwc});
  return {ops::var(rows, -1), ops::mean(pixels, {1, 2}), ops::topk(rows, 2).indices};
}

class Lowering : public tests::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Lowering, tests::all_devices(), tests::device_name);

TEST_P(Lowering, PrintsWhatWasMeant) {
  const Executor& on = *device_;
  const std::string text = explain(of_all(numbers({4, 8}, on), numbers({8, 8}, on),
                                          numbers({1, 6, 6, 2}, on), numbers({3, 3, 2, 4}, on)));
  const size_t before = text.find("before lowering:"), after = text.find("lowered:\n1. ");
  ASSERT_NE(before, std::string::npos) << text;
  ASSERT_NE(after, std::string::npos) << text;
  for (const char* name : {"matmul [4, 8] f32", "softmax [4, 8] f32", "var [4] f32",
                           "conv2d [1, 4, 4, 4] f32", "mean [1, 4] f32", "topk [4, 2] i64"}) {
    const size_t at = text.find(std::string(" = ") + name, before);
    EXPECT_LT(at, after) << name << " in\n" << text;
  }
}

TEST_P(Lowering, GivesWhatTheProcessorGives) {
  const Executor& on = *device_;
  const Executor cpu(BackendType::Cpu);
  const auto on_each = [&](const Executor& e) {
    return of_all(numbers({4, 8}, e), numbers({8, 8}, e), numbers({1, 6, 6, 2}, e),
                  numbers({3, 3, 2, 4}, e));
  };
  const std::vector<Tensor> got = on_each(on), expected = on_each(cpu);
  eval(got);
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_TRUE(close(got[i].to(cpu).to(DType::F32), expected[i].to(DType::F32), 1e-6)) << i;
}

// What was captured for the processor, lowered for the device; with donated state, random numbers
// and constants.
TEST_P(Lowering, ACapturedGraphGoesToAnotherDevice) {
  const Executor& on = *device_;
  const Executor cpu(BackendType::Cpu);
  const Tensor w = numbers({512, 40}, cpu);
  const auto step = [&](const Tensor& state, const Tensor& x) -> std::vector<Tensor> {
    const Tensor y = ops::matmul(ops::mean(x, 0, true) + ops::sum(x, 0, true), w);
    return {state + ops::norm(y), ops::softmax(y, -1), ops::sum(x)};
  };
  const Tensor state = numbers({16}, cpu), x = numbers({300, 512}, cpu, 3);
  const Graph here = capture(step, {{.input = 0, .result = 0}}, state, x);
  const Graph there = here.to(on);
  const std::vector<Tensor> expected = here.launch(numbers({16}, cpu), x);
  for (int i = 0; i < 2; i++) {
    const std::vector<Tensor> got = there.launch(numbers({16}, on), x.to(on));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); k++) {
      EXPECT_EQ(got[k].executor().device().backend, on.device().backend);
      EXPECT_TRUE(close(got[k].to(cpu), expected[k], 1e-5)) << k;
    }
  }
}

// A graph of a structure that is known takes what it was given, not what the first one was.
TEST(LoweringOnce, NumbersAndOperandsAreEachGraphsOwn) {
  const Executor cpu(BackendType::Cpu);
  for (int i = 1; i <= 4; i++) {
    const Tensor x = numbers({5, 9}, cpu, i);
    const Tensor y = ops::mean(x * static_cast<double>(i), 1) + ops::matmul(x, x.transpose());
    const Tensor z = (ops::sum(x * static_cast<double>(i), 1) / 9.0) +
                     ops::sum(x.unsqueeze(1) * x.unsqueeze(0), -1);
    EXPECT_TRUE(close(y, z, 1e-5)) << i;
    EXPECT_EQ(ops::softmax(ops::full({i}, 3.0, DType::F32, cpu)).to_vector<float>(),
              std::vector<float>(static_cast<size_t>(i), 1.0f / static_cast<float>(i)));
  }
}

TEST(LoweringOnce, TakesWhatAFunctionWasCalledWith) {
  const Executor cpu(BackendType::Cpu);
  const Tensor x = numbers({6, 5}, cpu);
  for (const double correction : {0.0, 1.0, 2.0, 1.0})
    EXPECT_FLOAT_EQ(ops::var(x, {0, 1}, correction).item<float>(),
                    ops::sum(ops::square(x - ops::mean(x))).item<float>() /
                        static_cast<float>(30 - correction));
  for (const bool largest : {true, false})
    EXPECT_EQ(ops::topk(x, 1, 1, largest).values.shape(), (Shape{6, 1}));
  EXPECT_EQ(ops::mean(x, 0).shape(), (Shape{5}));
  EXPECT_EQ(ops::mean(x, 0, true).shape(), (Shape{1, 5}));
  EXPECT_EQ(ops::mean(x, 1).shape(), (Shape{6}));
}

// Weights that are made in the graph are brought into a library's order for each graph anew.
TEST(LoweringOnce, PacksWeightsThatTheGraphMakes) {
  const Executor cpu(BackendType::Cpu);
  const Tensor image = numbers({2, 9, 9, 8}, cpu);
  for (int i = 1; i <= 4; i++) {
    const Tensor kernel = (numbers({3, 3, 8, 16}, cpu, i) - 3.0) * static_cast<double>(i);
    const Tensor got = ops::mean(ops::conv2d(image, kernel, {.layout = ops::ImageLayout::Nhwc}), 0);
    const Tensor right =
        ops::conv2d(image, ops::copy(kernel).eval(), {.layout = ops::ImageLayout::Nhwc});
    EXPECT_TRUE(close(got, ops::sum(right, 0) / 2.0, 1e-5)) << i;
  }
}

// Somebody who holds what is in the middle finds it computed, and the rest does not change.
TEST(LoweringOnce, WhatIsHeldOnTheWayIsThere) {
  const Executor cpu(BackendType::Cpu);
  for (int i = 0; i < 3; i++) {
    const Tensor x = numbers({64, 64}, cpu, i);
    const Tensor product = ops::matmul(x, x), rows = ops::softmax(product, -1);
    const Tensor end = ops::mean(ops::matmul(rows, product), 1);
    const auto before = cpu.counters().launches;
    const std::vector<float> values = end.to_vector<float>();
    const auto once = cpu.counters().launches - before;
    const std::vector<float> of_rows = ops::sum(rows, 1).to_vector<float>();
    for (const float v : of_rows) EXPECT_NEAR(v, 1, 1e-5);
    EXPECT_EQ(end.to_vector<float>(), values);
    EXPECT_LE(once, 4u);
  }
}

// What cannot run is an error of its own, also beside composites that could.
TEST(LoweringOnce, WhatCannotRunIsTold) {
  const Executor cpu(BackendType::Cpu);
  const Tensor x = numbers({4, 4}, cpu);
  const auto reads = [&](const Tensor& stand_in) {
    Tensor sum = ops::softmax(x * 2.0) + stand_in;
    EXPECT_THROW(explain(sum), Error);
    EXPECT_THROW(kernels_of({sum}), Error);
    EXPECT_THROW(sum.eval(), Error);
    return sum;
  };
  EXPECT_TRUE(close(capture(reads, x).launch(x)[0], ops::softmax(x * 2.0) + x, 1e-6));
}

// Plans belong to an executor and must not keep it.
TEST(LoweringOnce, KeepsNoExecutor) {
  std::weak_ptr<Executor::State> state;
  {
    const Executor cpu(BackendType::Cpu);
    state = cpu.state();
    const Tensor x = numbers({30, 30}, cpu);
    ops::var(ops::softmax(ops::matmul(x, x) + 1.0, 0)).eval();
    ops::max_pool2d(x.reshape({1, 30, 30, 1}), {.kernel = 3, .layout = ops::ImageLayout::Nhwc})
        .eval();
  }
  EXPECT_TRUE(state.expired());
}

// Memory between runs is that of results alone.
TEST(LoweringOnce, KeepsNoMemory) {
  const Executor cpu(BackendType::Cpu);
  std::weak_ptr<const void> memory;
  for (int i = 0; i < 3; i++) {
    const Tensor x = numbers({256, 256}, cpu, i);
    memory = tensor::Access::node(x)->result.owner;
    ops::var(ops::matmul(x, x), 1).eval();
    EXPECT_FALSE(memory.expired());
  }
  EXPECT_TRUE(memory.expired());
}

}  // namespace
}  // namespace hologram
