// Random programs of tensors on devices other than the CPU: the same bits, but for f16 and bf16 in
// fused kernels, of which the oracle decides. HOLOGRAM_TEST_SECONDS=480 runs for so long,
// HOLOGRAM_TEST_GRAPHS=n so many, HOLOGRAM_TEST_SEED=n starts elsewhere, HOLOGRAM_TEST_ALL=1 goes
// on after a difference.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>

#include "graphs/generator.hpp"
#include "graphs/ways.hpp"
#include "hologram/ops.hpp"
#include "on_device.hpp"

namespace hologram {
namespace {

using namespace graphs;

class RandomGraphs : public tests::OnExactDevice {};

// Those results that need no f64, of a device that has none.
Description within(Description description, const Executor& device) {
  if (device.device().compute.has(DType::F64)) return description;
  std::vector<uint32_t> roots;
  for (const uint32_t root : description.roots) {
    Description one = description;
    one.roots = {root};
    const std::vector<bool> live = live_steps(one);
    bool needs = false;
    for (size_t i = 0; i < live.size(); i++)
      needs = needs || (live[i] && one.steps[i].dtype == DType::F64);
    if (!needs) roots.push_back(root);
  }
  description.roots = std::move(roots);
  return description;
}

TEST_P(RandomGraphs, HaveTheBitsOfTheCpu) {
  Checker checker(interpreting_cpu());
  checker.add({device_->device().name, Way::Kind::Together, *device_, {}, exact_ ? 0 : 0x1p-126});
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting("HOLOGRAM_TEST_SECONDS"));
  const auto first = static_cast<uint32_t>(setting("HOLOGRAM_TEST_SEED"));
  // They compile each kernel anew.
  constexpr unsigned long kOrdinary = 4;
  const unsigned long least = std::max(kOrdinary, setting("HOLOGRAM_TEST_GRAPHS"));
  unsigned long done = 0;
  for (uint32_t seed = first; done < least || std::chrono::steady_clock::now() < end; seed++) {
    const Description description = within(graphs::Generator(seed).make(), *device_);
    if (description.roots.empty()) continue;
    done++;
    const auto difference = checker.check(description);
    if (!difference) continue;
    ADD_FAILURE() << "seed " << seed << "\n" << text_of(*difference);
    if (setting("HOLOGRAM_TEST_ALL") == 0) return;
  }
}

// What compilers make of formulas that they know has other roundings: interpolations, common
// factors, sums of sums.
TEST_P(RandomGraphs, FormulasThatCompilersKnowKeepTheirRoundings) {
  struct Formula {
    const char* name;
    Tensor (*make)(const Tensor&, const Tensor&, const Tensor&);
  };
  constexpr Formula kFormulas[] = {
      {"a + c * (b - a)", [](auto& a, auto& b, auto& c) { return a + c * (b - a); }},
      {"a - c * (a - b)", [](auto& a, auto& b, auto& c) { return a - c * (a - b); }},
      {"c * (b - 1) + 1", [](auto&, auto& b, auto& c) { return c * (b - 1) + 1; }},
      {"c * (1 - b) - 1", [](auto&, auto& b, auto& c) { return c * (1 - b) - 1; }},
      {"a * (1 - c) + b * c", [](auto& a, auto& b, auto& c) { return a * (1 - c) + b * c; }},
      {"a * b + a * c", [](auto& a, auto& b, auto& c) { return a * b + a * c; }},
      {"a / c + b / c", [](auto& a, auto& b, auto& c) { return a / c + b / c; }},
      {"(a + 3) * 0.7", [](auto& a, auto&, auto&) { return (a + 3) * 0.7; }},
      {"(a + b) - b", [](auto& a, auto& b, auto&) { return (a + b) - b; }},
      {"(a - 1) + 1", [](auto& a, auto&, auto&) { return (a - 1) + 1; }},
      {"a + (b + c)", [](auto& a, auto& b, auto& c) { return a + (b + c); }},
      {"a * 0.3 * 0.7", [](auto& a, auto&, auto&) { return a * 0.3 * 0.7; }},
      {"a * (b / a)", [](auto& a, auto& b, auto&) { return a * (b / a); }},
      {"a * b - c", [](auto& a, auto& b, auto& c) { return a * b - c; }},
      {"cbrt(a)", [](auto& a, auto&, auto&) { return ops::cbrt(a); }},
  };
  if (!exact_) GTEST_SKIP() << "its arithmetic is not exact";
  const Executor cpu = interpreting_cpu();
  const Executor where[] = {*device_, cpu};
  std::array<std::vector<Tensor>, 2> operands;
  for (uint32_t k = 0; k < 3; k++) {
    std::mt19937 random(k);
    std::vector<float> values(5000);
    for (float& value : values) value = static_cast<float>(random() % 4000 + 1) / 256;
    for (size_t i = 0; i < 2; i++)
      operands[i].push_back(Tensor::from_vector(values, {5000}, where[i]));
  }
  for (const Formula& formula : kFormulas) {
    std::array<std::vector<float>, 2> made;
    for (size_t i = 0; i < 2; i++)
      made[i] = formula.make(operands[i][0], operands[i][1], operands[i][2]).to_vector<float>();
    size_t different = 0;
    for (size_t i = 0; i < made[0].size(); i++) different += made[0][i] != made[1][i] ? 1 : 0;
    EXPECT_EQ(different, 0u) << formula.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomGraphs, tests::all_devices(), tests::device_name);

}  // namespace
}  // namespace hologram
