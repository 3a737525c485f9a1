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
  for (uint32_t seed = first; seed < first + kOrdinary || std::chrono::steady_clock::now() < end;
       seed++) {
    const auto difference = checker.check(Generator(seed).make());
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
