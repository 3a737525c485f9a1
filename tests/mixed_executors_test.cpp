// Operands of several executors: of one device, of several.
#include <gtest/gtest.h>

#include "hologram/hologram.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

const std::vector<float> kThree = {1, 2, 3};

TEST(MixedExecutors, ThoseOfOneDeviceGoTogether) {
  const Executor one = Executor::builder().backend(BackendType::Cpu).threads(1).strict().build();
  const Executor two = Executor::builder().backend(BackendType::Cpu).threads(2).strict().build();
  const Tensor a = Tensor::from_vector(kThree, {3}, one), b = Tensor::from_vector(kThree, {3}, two);
  EXPECT_EQ((a * 2 + b).to_vector<float>(), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(ops::matmul(a.reshape({1, 3}), b.reshape({3, 1})).item<float>(), 14);
  EXPECT_EQ(ops::concat({b, a}, 0).executor().config().num_threads, 2);
  EXPECT_EQ(one.counters().fallbacks + two.counters().fallbacks, 0u);
}

TEST(MixedExecutors, OfSeveralDevicesTheCpuDoesTheWork) {
  std::optional<Executor> gpu;
  try {
    gpu = Executor::builder().backend(BackendType::OpenCl).build();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Executor cpu = Executor::builder().backend(BackendType::Cpu).build();
  const Tensor a = Tensor::from_vector(kThree, {3}, *gpu),
               b = Tensor::from_vector(kThree, {3}, cpu);
  const Tensor number = Tensor::from_vector(std::vector<float>{10}, {}, cpu);
  EXPECT_EQ((a * number).executor().device().backend, BackendType::OpenCl);
  EXPECT_EQ(cpu.counters().fallbacks + gpu->counters().fallbacks, 0u);
  const Tensor both = a + b;
  EXPECT_EQ(both.executor().device().backend, BackendType::Cpu);
  EXPECT_EQ(both.to_vector<float>(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(cpu.counters().fallbacks, 1u);
  for (const bool strict : {true, false}) {
    const Executor refuses = Executor::builder()
                                 .backend(BackendType::Cpu)
                                 .strict(strict)
                                 .allow_transfers(strict)
                                 .build();
    const std::string message = message_of([&] { a + Tensor::from_vector(kThree, {3}, refuses); });
    EXPECT_NE(message.find("the operands are on"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace hologram
