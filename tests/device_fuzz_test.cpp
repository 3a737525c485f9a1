// Random programs of tensors on devices other than the CPU: the same bits, but for f16 and bf16 in
// fused kernels, of which the oracle decides. HOLOGRAM_TEST_SECONDS=480 runs for so long,
// HOLOGRAM_TEST_SEED=n starts elsewhere, HOLOGRAM_TEST_ALL=1 goes on after a difference.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "graphs/generator.hpp"
#include "graphs/ways.hpp"
#include "hal/exactness.hpp"
#include "hologram/error.hpp"
#include "runtime/executor_state.hpp"

namespace hologram {
namespace {

using namespace graphs;

class RandomGraphs : public testing::TestWithParam<BackendType> {};

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
  std::optional<Executor> device;
  try {
    device.emplace(GetParam());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  // Of relaxed devices nothing is promised, but those of WebGPU are seen to have the CPU's bits but
  // for denormals; a device that divides carelessly is no match.
  const bool exact = device->device().numerics == Numerics::Exact ||
                     hal::computes_exactly(*device->state()->device);
  if (!exact && device->device().backend != BackendType::WebGpu)
    GTEST_SKIP() << "it does not compute exactly";
  Checker checker(interpreting_cpu());
  checker.add({device->device().name, Way::Kind::Together, *device, {}, exact ? 0 : 0x1p-126});
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting("HOLOGRAM_TEST_SECONDS"));
  const auto first = static_cast<uint32_t>(setting("HOLOGRAM_TEST_SEED"));
  // They compile each kernel anew.
  constexpr uint32_t kOrdinary = 4;
  uint32_t done = 0;
  for (uint32_t seed = first; done < kOrdinary || std::chrono::steady_clock::now() < end; seed++) {
    const Description description = within(Generator(seed).make(), *device);
    if (description.roots.empty()) continue;
    done++;
    const auto difference = checker.check(description);
    if (!difference) continue;
    ADD_FAILURE() << "seed " << seed << "\n" << text_of(*difference);
    if (setting("HOLOGRAM_TEST_ALL") == 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomGraphs,
                         testing::Values(BackendType::Cuda, BackendType::OpenCl,
                                         BackendType::WebGpu),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace hologram
