// Random programs of tensors on devices other than the CPU: the same bits, but for f16 and bf16 in
// fused kernels, of which the oracle decides. HOLOGRAM_TEST_SECONDS=480 runs for so long,
// HOLOGRAM_TEST_GRAPHS=n so many, HOLOGRAM_TEST_SEED=n starts elsewhere, HOLOGRAM_TEST_ALL=1 goes
// on after a difference.
#include <gtest/gtest.h>

#include <chrono>

#include "graphs/generator.hpp"
#include "graphs/ways.hpp"
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

INSTANTIATE_TEST_SUITE_P(Devices, RandomGraphs, tests::all_devices(), tests::device_name);

}  // namespace
}  // namespace hologram
