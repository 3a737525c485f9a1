// Random programs: what the naive interpreter makes of one as it is written, and what the real one
// makes of it when it is optimised.
//
// HOLOGRAM_TEST_SECONDS=600 runs for so long instead of a fixed number; HOLOGRAM_TEST_SEED=n starts
// from another program; HOLOGRAM_TEST_PROGRAMS=n runs so many; HOLOGRAM_TEST_MINIMISE=0 shows a
// program that differs as it is.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "oracle/differential.hpp"

namespace hologram::oracle {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ProgramFuzz, InterpretersAgree) {
  const uint64_t first = setting("HOLOGRAM_TEST_SEED", 1);
  const uint64_t seconds = setting("HOLOGRAM_TEST_SECONDS", 0);
  const uint64_t programs = setting("HOLOGRAM_TEST_PROGRAMS", seconds > 0 ? UINT64_MAX / 2 : 400);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  uint64_t count = 0;
  for (uint64_t seed = first; seed < first + programs; seed++, count++) {
    if (seconds > 0 && std::chrono::steady_clock::now() >= end) break;
    Choices choices(seed);
    const RandomCase c = random_case(choices);
    const DifferentialOptions options{.thorough = seed % 16 == 0};
    const std::string text = differences(c, options);
    if (text.empty()) continue;
    const RandomCase small = setting("HOLOGRAM_TEST_MINIMISE", 1) ? minimised(c, {}) : c;
    FAIL() << "seed " << seed << ": " << text << "\nminimised: " << differences(small, {}) << "\n"
           << to_text(small.module) << "grid " << small.grid[0] << " " << small.grid[1] << " "
           << small.grid[2];
  }
  std::printf("%llu programs\n", static_cast<unsigned long long>(count));
}

// The generator keeps its own promise: the order of lanes does not matter.
TEST(ProgramFuzz, ProgramsHaveNoRaces) {
  for (uint64_t seed = 1'000'000; seed < 1'000'100; seed++) {
    Choices choices(seed);
    const RandomCase c = random_case(choices);
    const std::string text = order_dependence(c);
    ASSERT_EQ(text, "") << "seed " << seed << "\n" << to_text(c.module);
  }
}

}  // namespace
}  // namespace hologram::oracle
