// What runs kernels where there is no GPU: the executor and the streams of tests/emulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "emulated/executor.hpp"
#include "emulated/kernel_library.hpp"
#include "emulated/streams.hpp"

namespace hologram {
namespace {

using emulated::Order;

emulated::KernelLibrary& library() {
  static auto* const instance = new emulated::KernelLibrary(EMULATED_KERNELS);
  return *instance;
}

class Emulated : public testing::Test {
 protected:
  void SetUp() override {
    if (!library().reason().empty()) GTEST_SKIP() << library().reason();
  }

  // A kernel of CUDA with 64 threads a block, whose only argument is words.
  std::string run(const std::string& body, std::vector<uint32_t>& words,
                  const emulated::Settings& settings = {}, unsigned blocks = 1) {
    const std::string text =
        "extern \"C\" __global__ void __launch_bounds__(64, 2) tried(unsigned* w) {\n" + body +
        "\n}\n";
    std::string log;
    const emulated::Kernel* kernel = library().find(text, log);
    if (kernel == nullptr) return log;
    uint32_t* data = words.data();
    const void* arguments[] = {&data};
    executor_.set(settings);
    return executor_.run(emulated::launch_of(*kernel, blocks, 64, arguments));
  }

  emulated::Executor executor_;
};

constexpr const char* kTurns = "w[w[0]] = blockIdx.x * 64 + threadIdx.x; w[0] = w[0] + 1;";

std::vector<uint32_t> turns_of(std::vector<uint32_t> words) {
  words.erase(words.begin());
  return words;
}

TEST_F(Emulated, LanesAndBlocksRunInTheOrderThatIsAskedFor) {
  std::vector<uint32_t> all(128);
  std::iota(all.begin(), all.end(), 0U);
  // With and without fibers.
  for (const std::string& body : {std::string(kTurns), kTurns + std::string(" __syncthreads();")}) {
    std::vector<uint32_t> words(129);
    words[0] = 1;
    EXPECT_EQ(run(body, words, {}, 2), "");
    EXPECT_EQ(turns_of(words), all);
    words[0] = 1;
    EXPECT_EQ(run(body, words, {.order = Order::Reverse}, 2), "");
    EXPECT_EQ(turns_of(words), std::vector<uint32_t>(all.rbegin(), all.rend()));
    words[0] = 1;
    EXPECT_EQ(run(body, words, {.order = Order::Random, .seed = 7}, 2), "");
    const std::vector<uint32_t> once = turns_of(words);
    EXPECT_NE(once, all);
    EXPECT_TRUE(std::is_permutation(once.begin(), once.end(), all.begin()));
    words[0] = 1;
    EXPECT_EQ(run(body, words, {.order = Order::Random, .seed = 7}, 2), "");
    EXPECT_EQ(turns_of(words), once) << "the seed decides";
  }
}

TEST_F(Emulated, BarriersWaitForTheWholeBlock) {
  const char* body =
      "__shared__ unsigned s[64];\n"
      "for (unsigned i = 0; i < 3; i++) {\n"
      "  s[threadIdx.x] = w[threadIdx.x];\n  __syncthreads();\n"
      "  w[threadIdx.x] = s[(threadIdx.x + 33) % 64];\n  __syncthreads();\n}";
  for (const Order order : {Order::Forward, Order::Reverse, Order::Random})
    for (const unsigned wave : {32U, 64U}) {
      std::vector<uint32_t> words(64);
      std::iota(words.begin(), words.end(), 0U);
      EXPECT_EQ(run(body, words, {wave, order, 3}), "");
      for (uint32_t i = 0; i < 64; i++) EXPECT_EQ(words[i], (i + 99) % 64);
    }
}

// Without the barrier that is missing here a wave sees what the other has yet to write.
TEST_F(Emulated, AMissingBarrierShows) {
  const char* body =
      "__shared__ unsigned s[64];\n"
      "s[threadIdx.x] = threadIdx.x;\n"
      "w[threadIdx.x] = s[threadIdx.x ^ 32];\n  __syncthreads();";
  for (const Order order : {Order::Forward, Order::Reverse}) {
    std::vector<uint32_t> words(64);
    EXPECT_EQ(run(body, words, {.order = order}), "");
    EXPECT_EQ(std::count(words.begin(), words.end(), 0xfff5a5a5U), 32);
  }
}

TEST_F(Emulated, BarriersThatNotAllComeByAreFound) {
  std::vector<uint32_t> words(64);
  EXPECT_EQ(run("if (blockIdx.x == 0 || threadIdx.x < 40) __syncthreads();", words, {}, 3),
            "kernel tried, block 1 of 3: not all threads come to the same barrier: 0 to 39 are at "
            "the barrier of line 2, 40 to 63 are at the end");
  EXPECT_EQ(run("if (threadIdx.x < 32)\n__syncthreads();\nelse\n__syncthreads();", words),
            "kernel tried, block 0 of 1: not all threads come to the same barrier: 0 to 31 are at "
            "the barrier of line 3, 32 to 63 are at the barrier of line 5");
}

TEST_F(Emulated, WorkgroupMemoryIsPoisonedBeforeEachBlock) {
  const char* body =
      "__shared__ float f[64];\n__shared__ unsigned u[64];\n"
      "w[threadIdx.x] += (f[threadIdx.x] != f[threadIdx.x]) + (u[threadIdx.x] == 0xfff5a5a5u);\n"
      "f[threadIdx.x] = 0;\nu[threadIdx.x] = 0;";
  std::vector<uint32_t> words(64);
  EXPECT_EQ(run(body, words, {}, 2), "");
  EXPECT_EQ(words, std::vector<uint32_t>(64, 4));
}

TEST_F(Emulated, LanesHandValuesOver) {
  const std::string down =
      "unsigned v = w[threadIdx.x];\n"
      "for (unsigned d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);\n"
      "w[threadIdx.x] = v;";
  for (const Order order : {Order::Forward, Order::Reverse, Order::Random})
    for (const unsigned wave : {32U, 64U}) {
      std::vector<uint32_t> words(64, 1);
      EXPECT_EQ(run(down, words, {wave, order, 5}), "");
      EXPECT_EQ(words[0], 32U);
      EXPECT_EQ(words[32], 32U) << "32 columns, whatever the wave";
    }
  // Lanes that the mask leaves out do not hold the others up, and give nothing.
  std::vector<uint32_t> words(64, 1);
  EXPECT_EQ(run("if (threadIdx.x % 32 < 16) w[threadIdx.x] = "
                "__shfl_down_sync(0xffffu, w[threadIdx.x], 8);",
                words),
            "");
  EXPECT_EQ(words[7], 1U);
  EXPECT_EQ(words[8], 0xfff5a5a5U);
  EXPECT_EQ(words[16], 1U);
  // Those that it names and that are elsewhere do.
  EXPECT_NE(run("if (threadIdx.x != 5) __syncwarp(); else __syncthreads();", words), "");
}

TEST_F(Emulated, WhatDoesNotCompileIsTold) {
  std::vector<uint32_t> words(64);
  EXPECT_NE(run("w[0] = nobody;", words).find("nobody"), std::string::npos);
}

TEST(EmulatedStreams, KeepTheOrderWithinEach) {
  auto* const streams = new emulated::Streams;  // its threads stay
  streams->run_beside(1);
  std::vector<int> done[2];
  emulated::Streams::Ticket last = 0;
  for (int i = 0; i < 100; i++)
    for (std::vector<int>& list : done)
      last = streams->put(&list, emulated::Streams::Kind::Any, [i, &list] { list.push_back(i); });
  streams->wait_for_all();
  EXPECT_TRUE(streams->done(last));
  for (const std::vector<int>& list : done) {
    EXPECT_EQ(list.size(), 100U);
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
  }
}

TEST(EmulatedStreams, AreNotHeldUpByAnother) {
  auto* const streams = new emulated::Streams;
  streams->run_beside(1);
  std::atomic<bool> stop = false;
  int a = 0, b = 0;
  const auto kernel = streams->put(&a, emulated::Streams::Kind::Kernel, [&] {
    while (!stop) continue;
  });
  EXPECT_FALSE(streams->done(kernel));
  streams->wait(streams->put(&b, emulated::Streams::Kind::Any, [&] { stop = true; }));
  streams->wait(kernel);
}

}  // namespace
}  // namespace hologram
