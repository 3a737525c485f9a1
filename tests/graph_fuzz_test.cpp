// Random graphs of tensors: what is fused with what, and when things are computed, does not show.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "hologram/ops.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"

namespace hologram {
namespace {

using Random = std::mt19937;

size_t below(Random& random, size_t n) { return random() % n; }

Executor with_fusion(bool fusion) {
  return ExecutorBuilder().backend(BackendType::Cpu).fusion(fusion).build();
}

// The same graph for the same seed, on any executor: the values made last are the roots.
std::vector<Tensor> random_graph(uint32_t seed, const Executor& executor) {
  Random random(seed);
  // Some long enough to be reduced in pieces, or shared by a group.
  const int64_t rows = seed % 7 == 0 ? 601 : 6, columns = seed % 17 == 0 && rows == 6 ? 16400
                                                          : seed % 5 == 0             ? 530
                                                                                      : 4;
  std::vector<Tensor> pool;
  for (const Shape& shape : {Shape{rows, columns}, Shape{1, columns}, Shape{rows, 1}}) {
    std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
    for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 512;
    pool.push_back(Tensor::from_vector(values, shape, executor));
  }
  const auto any = [&]() -> const Tensor& { return pool[below(random, pool.size())]; };
  const auto view = [&](const Tensor& x) {
    switch (below(random, 5)) {
      case 0: return x.flip({static_cast<int>(below(random, 2))});
      case 1: return x.transpose().flip({1}).transpose();
      case 2: return x.broadcast_to({rows, columns});
      case 3: return x.reshape({-1}).reshape(x.shape());
      default: return x.slice({{}, {{}, {}, x.size(1) == columns ? -1 : 1}});
    }
  };
  const auto reduced = [&](const Tensor& x) {
    const int axis = static_cast<int>(below(random, 2));
    switch (below(random, 5)) {
      case 0: return ops::sum(x, axis, true) * 0.01f;
      case 1: return ops::max(x, axis, true);
      case 2: return ops::mean(x, {}, true);
      case 3: return ops::softmax(x, axis);
      default: return ops::sqrt(ops::var(x, axis, 0, true));
    }
  };
  const size_t steps = 4 + below(random, 14);
  for (size_t k = 0; k < steps; k++) {
    Tensor made;
    switch (below(random, 9)) {
      case 0: made = any() + any(); break;
      case 1: made = any() * any() * 0.25f; break;
      case 2: made = any() - view(any()); break;
      case 3: made = ops::maximum(any(), any()); break;
      case 4: made = ops::tanh(any()); break;
      case 5: made = ops::where(any() < any(), any(), 1.5f); break;
      case 6: made = reduced(below(random, 2) == 0 ? view(any()) : any()); break;
      case 7: made = view(any()); break;
      default: made = ops::fma(any(), any(), reduced(any())); break;
    }
    pool.push_back(made);
  }
  const size_t roots = 1 + below(random, 4);
  return {pool.end() - static_cast<std::ptrdiff_t>(roots), pool.end()};
}

std::vector<Array> arrays_of(const std::vector<Tensor>& tensors) {
  std::vector<Array> arrays;
  arrays.reserve(tensors.size());
  for (const Tensor& t : tensors) arrays.push_back(t.array());
  return arrays;
}

void expect_same(const std::vector<Array>& a, const std::vector<Array>& b, uint32_t seed,
                 const char* what) {
  for (size_t k = 0; k < a.size(); k++) {
    ASSERT_EQ(a[k].shape(), b[k].shape());
    for (size_t i = 0; i < a[k].size(); i++) {
      const float x = a[k].as<float>()[i], y = b[k].as<float>()[i];
      const bool same = std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
      if (same || (x != x && y != y)) continue;
      FAIL() << what << ": seed " << seed << ", root " << k << ", element " << i << ": " << x
             << " or " << y;
    }
  }
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
  const auto setting = [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0ul : std::strtoul(text, nullptr, 10);
  };
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
