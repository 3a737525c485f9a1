// Random programs of tensors: what is fused with what, how and when things are computed, and by
// what, does not show, and everything is as the documents say.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "graphs/generator.hpp"
#include "graphs/ways.hpp"
#include "hologram/ops.hpp"
#include "share.hpp"

namespace hologram {
namespace {

using namespace graphs;

class GraphFuzz : public testing::Test {
 protected:
  GraphFuzz() : checker_(interpreting_cpu()) { add_cpu_ways(checker_); }

  // Whether to go on.
  bool check(const Description& description, uint32_t seed, std::string_view only = "") {
    const auto difference = checker_.check(description, only);
    if (!difference) return true;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    ADD_FAILURE() << "seed " << seed << ", after " << passed.count() << " s\n"
                  << text_of(*difference);
    return setting("HOLOGRAM_TEST_ALL") != 0;
  }

  // What is thrown, be it while a difference is made smaller, is told with the seed.
  bool try_seed(uint32_t seed) {
    try {
      return check(graphs::Generator(seed).make(), seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what();
      return false;
    }
  }

  // What chance has left out, or what stood together with something that a way lacks.
  bool fill_holes() {
    constexpr uint32_t kTries = 24;
    for (uint32_t seed = 1; seed <= kTries; seed++)
      for (const Hole& hole : checker_.coverage.holes()) {
        if (!hole.reason().empty()) continue;
        const auto one = graphs::Generator::make_only(hole.cell, hole.way == "by rows", seed);
        if (one && !check(*one, seed, hole.way)) return false;
      }
    return true;
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Checker checker_;
};

// All cells of operation, dtype and size in every way of running, once. HOLOGRAM_TEST_SECONDS=600
// runs for so long, HOLOGRAM_TEST_SEED=n starts elsewhere, HOLOGRAM_TEST_GRAPHS=1 tries so many,
// HOLOGRAM_TEST_ALL=1 goes on after a difference.
TEST_F(GraphFuzz, NothingShowsAndAllIsRight) {
  const std::chrono::seconds seconds(setting("HOLOGRAM_TEST_SECONDS"));
  const auto first = static_cast<uint32_t>(setting("HOLOGRAM_TEST_SEED"));
  const auto asked = static_cast<uint32_t>(setting("HOLOGRAM_TEST_GRAPHS"));
  const uint32_t round = descriptions_of_a_round();
  const uint32_t least = asked != 0 ? asked : seconds.count() != 0 ? 1 : round;
  tests::Share share;
  uint32_t seed = first;
  for (; seed < first + least || std::chrono::steady_clock::now() < start_ + seconds; seed++)
    if ((asked != 0 || share.next()) && !try_seed(seed)) return;
  const bool whole_round = seed - first >= round && share.all();
  if (whole_round && !fill_holes()) return;
  const Tally& tally = checker_.tally;
  std::printf("%s%u descriptions; of %llu elements %llu are not said to be anything\n",
              checker_.coverage.table().c_str(), seed - first,
              static_cast<unsigned long long>(tally.compared) + tally.unknown,
              static_cast<unsigned long long>(tally.unknown));
  if (!whole_round) return;
  std::vector<std::string> unexpected;
  for (const Hole& hole : checker_.coverage.holes())
    if (hole.reason().empty()) unexpected.push_back(hole.name());
  EXPECT_EQ(unexpected, std::vector<std::string>());
}

// Tensors and what they must hold, which is computed at once and never shared.
void play(uint32_t seed, const Tensor& shared, const std::vector<float>& shared_values) {
  constexpr size_t kSide = 4, kCount = kSide * kSide;
  std::mt19937 random(seed);
  std::vector<Tensor> tensors(3, shared);
  std::vector<std::vector<float>> values(3, shared_values);
  for (int step = 0; step < 150; step++) {
    const size_t i = random() % tensors.size(), j = random() % tensors.size();
    std::vector<float>& to = values[i];
    const std::vector<float> from = values[j];
    switch (random() % 7) {
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

TEST(ValuesFuzz, StayValuesOnEightThreads) {
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
