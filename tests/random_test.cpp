// Generators and states of random numbers (random.hpp). What the numbers are, conformance_test
// says.
#include "hologram/random.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  const Array array = tensor.array();
  const auto values = array.as<float>();
  return {values.begin(), values.end()};
}

Executor cpu(int threads) {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  config.num_threads = threads;
  return Executor::from_config(config);
}

TEST(Generator, DrawsWhatAnExecutorDrawsFromTheSameState) {
  const Executor executor = cpu(2);
  ops::seed(7, executor);
  Generator generator(7);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(floats_of(ops::rand({5}, DType::F32, executor)),
              floats_of(generator.rand({5}, DType::F32, executor)));
    EXPECT_EQ(floats_of(ops::randn({5}, DType::F32, executor)),
              floats_of(generator.randn({5}, DType::F32, executor)));
    EXPECT_EQ(floats_of(ops::randint(0, 9, {5}, DType::I32, executor).to(DType::F32)),
              floats_of(generator.randint(0, 9, {5}, DType::I32, executor).to(DType::F32)));
  }
  EXPECT_EQ(generator.state(), (RandomState{7, 9}));
  EXPECT_EQ(random_state(executor), generator.state());
}

TEST(Generator, StateGoesThereAndBack) {
  const Executor executor = cpu(1);
  Generator generator(RandomState{UINT64_MAX, UINT64_MAX - 1});
  Generator copy = generator;
  const auto first = floats_of(generator.rand({4}, DType::F32, executor));
  const auto second = floats_of(generator.rand({4}, DType::F32, executor));
  EXPECT_EQ(floats_of(copy.rand({4}, DType::F32, executor)), first);
  EXPECT_NE(first, second);
  set_random_state(copy.state(), executor);
  EXPECT_EQ(floats_of(ops::rand({4}, DType::F32, executor)), second);
}

TEST(Generator, SplitsIntoOthersByTheStateAlone) {
  Generator generator(3);
  std::set<uint64_t> keys = {3};
  for (int round = 0; round < 2; round++)
    for (const Generator& part : generator.split(100)) {
      EXPECT_EQ(part.state().counter, 0u);
      keys.insert(part.state().key);
    }
  EXPECT_EQ(keys.size(), 201u);
  EXPECT_EQ(generator.state(), (RandomState{3, 2}));
  EXPECT_EQ(Generator(3).split(2)[1].state(), Generator(3).split(100)[1].state());
  EXPECT_TRUE(generator.split(0).empty());
}

TEST(Generator, WhatIsRefusedDrawsNothing) {
  const Executor executor = cpu(1);
  Generator generator(3);
  EXPECT_THROW(generator.rand({4}, DType::I32, executor), Error);
  EXPECT_THROW(generator.randint(4, 4, {4}, DType::I32, executor), Error);
  EXPECT_THROW(generator.randint(0, 300, {4}, DType::U8, executor), Error);
  EXPECT_EQ(generator.state(), (RandomState{3, 0}));
}

}  // namespace
}  // namespace hologram
