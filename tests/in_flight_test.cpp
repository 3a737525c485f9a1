// Which kernels may read before those in front of them have ended.
#include "backends/driver/in_flight.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hologram::backends::driver {
namespace {

using Kind = dialects::Argument::Kind;

struct Range {
  Address from;
  uint64_t bytes;
};

class UnderwayTest : public testing::Test {
 protected:
  // A launch that reads and writes these; it has the argument that lets it start early, or not.
  bool add(const std::vector<Range>& reads, const std::vector<Range>& writes, bool able = true) {
    Kernel kernel;
    std::vector<uint64_t> values;
    std::vector<hal::Binding> bindings;
    const auto give = [&](const std::vector<Range>& ranges, bool written) {
      for (const Range& range : ranges) {
        kernel.slots.push_back(
            {Kind::Buffer, 0, static_cast<uint32_t>(bindings.size()), !written, written});
        values.push_back(range.from);
        bindings.push_back({nullptr, 0, range.bytes});
      }
    };
    give(reads, false);
    give(writes, true);
    if (able) kernel.early = kernel.slots.size();
    kernel.slots.push_back({Kind::Early, 0, 0, false, false});
    values.push_back(0);
    return in_flight_.add(kernel, values.data(), bindings);
  }

  InFlight in_flight_;
  const Range x_{0x1000, 256}, y_{0x2000, 256}, a_{0x3000, 256}, b_{0x4000, 256}, c_{0x5000, 256};
};

TEST_F(UnderwayTest, TheFirstWaits) {
  EXPECT_FALSE(add({x_}, {a_}));
  EXPECT_TRUE(add({x_}, {b_}));
}

TEST_F(UnderwayTest, WhoReadsWhatOthersReadIsEarly) {
  add({x_}, {a_});
  EXPECT_TRUE(add({x_, y_}, {b_}));
  EXPECT_TRUE(add({y_}, {c_}));
}

TEST_F(UnderwayTest, WhoReadsWhatIsWrittenWaits) {
  add({x_}, {a_});
  EXPECT_FALSE(add({a_}, {b_}));
  EXPECT_FALSE(add({x_, b_}, {c_}));
}

TEST_F(UnderwayTest, WhatIsWrittenAgainMayStillBeRead) {
  add({x_}, {a_});
  EXPECT_TRUE(add({x_}, {a_})) << "it waits before it writes";
  EXPECT_TRUE(add({y_}, {x_})) << "it waits before it writes";
}

TEST_F(UnderwayTest, AllThatWasWrittenSinceOneWaitedCounts) {
  add({x_}, {a_});
  EXPECT_TRUE(add({x_}, {b_}));
  EXPECT_TRUE(add({x_}, {c_}));
  EXPECT_FALSE(add({a_}, {y_}));
  EXPECT_TRUE(add({b_, c_}, {a_})) << "those have ended, for the last one has waited";
}

TEST_F(UnderwayTest, PartsThatTouchDoNotOverlap) {
  add({x_}, {{0x3000, 256}});
  EXPECT_TRUE(add({{0x3100, 256}}, {b_}));
  EXPECT_FALSE(add({{0x30ff, 1}}, {c_}));
}

TEST_F(UnderwayTest, AKernelThatCannotIsNeverEarly) {
  add({x_}, {a_});
  EXPECT_FALSE(add({x_}, {b_}, false));
  EXPECT_FALSE(add({b_}, {c_})) << "what it writes counts";
  EXPECT_TRUE(add({a_}, {b_}));
}

TEST_F(UnderwayTest, BehindOtherWorkItWaits) {
  add({x_}, {a_});
  in_flight_.add_unknown();
  EXPECT_FALSE(add({x_}, {b_}));
  EXPECT_TRUE(add({x_}, {c_}));
}

TEST_F(UnderwayTest, WhatIsTooMuchToKeepInMindIsWaitedFor) {
  std::vector<Range> many;
  for (Address i = 0; i < 20; i++) many.push_back({0x10000 + i * 0x1000, 256});
  add({x_}, many);
  EXPECT_FALSE(add({x_}, {b_}));
  EXPECT_TRUE(add({x_}, {c_}));
  EXPECT_TRUE(add({many.back()}, {a_}));
}

}  // namespace
}  // namespace hologram::backends::driver
