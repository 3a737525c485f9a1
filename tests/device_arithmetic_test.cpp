// Random f32 arithmetic as Atlas programs, one kernel each, on devices other than the CPU: the
// CPU's bits. Tensors hardly ever make a kernel where a product meets a number twice; compilers
// that take floats for real numbers are found by these in some hundred programs.
// HOLOGRAM_TEST_PROGRAMS=n runs so many, HOLOGRAM_TEST_SEED=n starts elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "graphs/ways.hpp"
#include "hologram/hologram.hpp"
#include "on_device.hpp"

namespace hologram {
namespace {

constexpr size_t kSteps = 40, kShown = 6, kElements = 256;
constexpr std::array kNames = {"x", "y", "z"};

class Drawn {
 public:
  explicit Drawn(uint32_t seed) : random_(seed) {}

  std::string program() {
    std::string steps, stores, outputs;
    for (size_t i = 0; i < kSteps; i++) {
      const std::string name = fmt::format("t{}", i);
      const auto [text, is_truth] = step();
      (is_truth ? truths_ : values_).push_back(name);
      steps += fmt::format("    {} = {}\n", name, text);
      if (i + kShown < kSteps) continue;
      const size_t shown = i + kShown - kSteps;
      outputs += fmt::format(", out o{}: f32[n]", shown);
      stores += fmt::format("    o{}[i] = {}\n", shown,
                            is_truth ? fmt::format("select({}, 1.0, 0.0)", name) : name);
    }
    return fmt::format(
        "program arithmetic(in x: f32[n], in y: f32[n], in z: f32[n]{}) lanes(n) {{\n"
        "  i = global_id.x\n  if i < n {{\n    x0 = x[i]\n    y0 = y[i]\n    z0 = z[i]\n{}{}  "
        "}}\n}}\n",
        outputs, steps, stores);
  }

  Array input() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr std::array kSpecial = {
        0.0F, -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1.0F, 2.0F,
        3.0F, 1e30F, -1e20F,    16777217.0F};
    Array array(DType::F32, {kElements});
    for (float& element : array.mutable_as<float>()) {
      const auto magnitude = static_cast<int>(below(24)) - 12;
      const float ordinary =
          std::ldexp(static_cast<float>(random_() % 0x1000000) * 0x1p-23F - 1.0F, magnitude);
      element = chance(4) ? kSpecial[below(kSpecial.size())] : ordinary;
    }
    return array;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  bool chance(size_t in) { return below(in) == 0; }
  std::string number() {
    constexpr std::array kNumbers = {"0.5",       "2.0", "3.0",   "0.1",       "1.0",
                                     "0.3333333", "1.5", "0.001", "16777216.0"};
    return kNumbers[below(kNumbers.size())];
  }
  // The last ones mostly, so that long chains are made.
  std::string value() {
    return chance(3)
               ? values_[below(kNames.size())]
               : values_[values_.size() - 1 - below(std::min<size_t>(values_.size(), kShown))];
  }
  std::string other() { return chance(4) ? number() : value(); }
  std::string truth() { return truths_[below(truths_.size())]; }

  std::pair<std::string, bool> step() {
    constexpr std::array kComparisons = {" < ", " <= ", " == ", " != "};
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3: return {value() + " + " + other(), false};
      case 4:
      case 5: return {value() + " - " + other(), false};
      case 6: return {number() + " - " + value(), false};
      case 7:
      case 8:
      case 9: return {value() + " * " + other(), false};
      case 10: return {value() + " / " + other(), false};
      case 11: {
        constexpr std::array kFunctions = {"sqrt(", "abs(", "floor(", "-("};
        return {kFunctions[below(kFunctions.size())] + value() + ")", false};
      }
      case 12: return {(chance(2) ? "min(" : "max(") + value() + ", " + other() + ")", false};
      case 13:
        if (!truths_.empty()) return {"!" + truth(), true};
        [[fallthrough]];
      case 14: return {value() + kComparisons[below(kComparisons.size())] + other(), true};
      default:
        if (truths_.empty()) return {value() + " * " + value(), false};
        return {"select(" + truth() + ", " + value() + ", " + other() + ")", false};
    }
  }

  std::mt19937 random_;
  std::vector<std::string> values_ = {"x0", "y0", "z0"}, truths_;
};

class RandomArithmetic : public tests::OnExactDevice {};

TEST_P(RandomArithmetic, HasTheBitsOfTheCpu) {
  const auto agree = [&](float a, float b) {
    const auto as_zero = [](float x) { return std::fabs(x) < std::numeric_limits<float>::min(); };
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b)) || (!exact_ && as_zero(a) && as_zero(b));
  };
  const Executor cpu(BackendType::Cpu);
  constexpr unsigned long kOrdinary = 24;
  const unsigned long asked = graphs::setting("HOLOGRAM_TEST_PROGRAMS");
  const auto first = static_cast<uint32_t>(graphs::setting("HOLOGRAM_TEST_SEED"));
  for (uint32_t seed = first; seed < first + (asked == 0 ? kOrdinary : asked); seed++) {
    Drawn drawn(seed);
    const program::Program program = program::Program::parse(drawn.program(), "arithmetic");
    std::vector<Argument> inputs;
    inputs.reserve(kNames.size());
    for (const char* name : kNames) inputs.push_back({name, drawn.input()});
    const auto right = cpu.run(program, inputs), found = device_->run(program, inputs);
    for (const auto& [name, array] : right) {
      const auto expected = array.as<float>(), seen = found.at(name).as<float>();
      for (size_t i = 0; i < expected.size(); i++)
        ASSERT_TRUE(agree(expected[i], seen[i]))
            << device_->device().name << ", seed " << seed << ": " << name << "[" << i << "] is "
            << seen[i] << ", not " << expected[i] << "\n"
            << Drawn(seed).program();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomArithmetic, tests::all_devices(), tests::device_name);

}  // namespace
}  // namespace hologram
