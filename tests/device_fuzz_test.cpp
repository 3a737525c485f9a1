// Random graphs on devices other than the CPU: the same bits. HOLOGRAM_TEST_SECONDS=480 runs for so
// long, HOLOGRAM_TEST_SEED=n starts elsewhere.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "hal/exactness.hpp"
#include "hologram/error.hpp"
#include "random_graph.hpp"
#include "runtime/executor_state.hpp"

namespace hologram {
namespace {

using namespace testing_graphs;

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
  const Executor cpu(BackendType::Cpu);
  const auto first = static_cast<uint32_t>(setting("HOLOGRAM_TEST_SEED"));
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(setting("HOLOGRAM_TEST_SECONDS"));
  for (uint32_t seed = first; !HasFailure(); seed++) {
    if (seed >= first + 12 && std::chrono::steady_clock::now() >= end) break;
    expect_same(arrays_of(random_graph(seed, cpu)), arrays_of(random_graph(seed, *device)), seed,
                device->device().name.c_str(), exact ? 0 : 0x1p-126F);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomGraphs,
                         testing::Values(BackendType::Cuda, BackendType::OpenCl,
                                         BackendType::WebGpu),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace hologram
