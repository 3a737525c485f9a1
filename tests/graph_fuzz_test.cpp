// Random graphs of tensors: what is fused with what, and when things are computed, does not show.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "interp/targets.hpp"
#include "jit/jit.hpp"
#include "random_graph.hpp"

namespace hologram {
namespace {

using namespace testing_graphs;

Executor with_fusion(bool fusion) {
  return ExecutorBuilder().backend(BackendType::Cpu).fusion(fusion).build();
}

TEST(GraphFuzz, FusionAndOrderDoNotShow) {
  const Executor fused = with_fusion(true), plain = with_fusion(false);
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); seed++) {
    const std::vector<Tensor> together = random_graph(seed, fused);
    eval(together);
    const std::vector<Array> expected = arrays_of(together);
    expect_same(expected, arrays_of(random_graph(seed, plain)), seed, "without fusion");
    // One root after the other, the last one first.
    const std::vector<Tensor> apart = random_graph(seed, fused);
    for (size_t k = apart.size(); k-- > 0;) apart[k].eval();
    expect_same(expected, arrays_of(apart), seed, "one by one");
  }
}

// Interpreted and compiled, on each instruction set that has a compiler. HOLOGRAM_TEST_SECONDS=600
// runs for so long, HOLOGRAM_TEST_SEED=n starts elsewhere.
TEST(GraphFuzz, CompilingDoesNotShow) {
  const auto made_for = [](std::string_view target, Jit when) {
    return ExecutorBuilder()
        .backend(BackendType::Cpu)
        .cpu_target(std::string(target))
        .jit(when)
        .check(false)
        .build();
  };
  const auto targets = interp::supported_targets();
  const Executor interpreted = made_for(targets.front().name, Jit::Off);
  std::vector<std::pair<std::string, Executor>> compiled;
  for (const interp::Target& t : targets)
    if (jit::isa_of(t.name) != jit::Isa::None)
      compiled.emplace_back("compiled for " + std::string(t.name), made_for(t.name, Jit::Always));
  if (compiled.empty()) GTEST_SKIP() << "no instruction set here has a compiler";
  const auto first = static_cast<uint32_t>(setting("HOLOGRAM_TEST_SEED"));
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting("HOLOGRAM_TEST_SECONDS"));
  for (uint32_t seed = first; !HasFailure(); seed++) {
    if (seed >= first + 150 && std::chrono::steady_clock::now() >= end) break;
    const std::vector<Array> expected = arrays_of(random_graph(seed, interpreted));
    for (const auto& [what, executor] : compiled)
      expect_same(expected, arrays_of(random_graph(seed, executor)), seed, what.c_str());
  }
}

// Tensors and what they must hold, which is computed at once and never shared.
void play(uint32_t seed, const Tensor& shared, const std::vector<float>& shared_values) {
  constexpr size_t kSide = 4, kCount = kSide * kSide;
  Random random(seed);
  std::vector<Tensor> tensors(3, shared);
  std::vector<std::vector<float>> values(3, shared_values);
  for (int step = 0; step < 150; step++) {
    const size_t i = below(random, tensors.size()), j = below(random, tensors.size());
    std::vector<float>& to = values[i];
    const std::vector<float> from = values[j];
    switch (below(random, 7)) {
      case 0:
        tensors[i] += tensors[j];
        for (size_t k = 0; k < kCount; k++) to[k] = to[k] + from[k];
        break;
      case 1:
        tensors[i] -= tensors[j].transpose();
        for (size_t k = 0; k < kCount; k++) to[k] = to[k] - from[k % kSide * kSide + k / kSide];
        break;
      case 2:
        tensors[i] *= 0.5f;
        for (float& v : to) v *= 0.5f;
        break;
      case 3:
        tensors[i] = tensors[j];
        to = from;
        break;
      case 4:
        tensors[i] = tensors[j].flip({0, 1});
        for (size_t k = 0; k < kCount; k++) to[k] = from[kCount - 1 - k];
        break;
      case 5: tensors[i].eval(); break;
      default: ASSERT_EQ(tensors[i].to_vector<float>(), to) << "seed " << seed << ", step " << step;
    }
  }
  for (size_t i = 0; i < tensors.size(); i++) ASSERT_EQ(tensors[i].to_vector<float>(), values[i]);
}

TEST(GraphFuzz, ValuesStayValuesOnEightThreads) {
  std::vector<float> values(16);
  for (size_t k = 0; k < values.size(); k++) values[k] = static_cast<float>(k) / 8 - 1;
  const Tensor start = Tensor::from_vector(values, {4, 4});
  const Tensor shared = start + 0.0f;  // lazy: whichever thread is first computes it
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      for (uint32_t k = 0; k < 8; k++) play(t * 100 + k, shared, values);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(shared.to_vector<float>(), values);
}

}  // namespace
}  // namespace hologram
