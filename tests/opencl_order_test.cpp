// Commands on two queues, and what waits for what.
#include "backends/opencl/queue_order.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace hologram::backends::opencl {
namespace {

using Use = Order::Use;
constexpr uint64_t kLarge = uint64_t{64} << 20;
constexpr size_t kMain = Order::kMain, kAside = Order::kAside;

const Memory* memory(size_t number) {
  static const std::array<char, 1024> addresses{};
  return reinterpret_cast<const Memory*>(&addresses.at(number));
}
Use reads(size_t number, uint64_t bytes = kLarge) { return {memory(number), 0, bytes, false}; }
Use writes(size_t number, uint64_t bytes = kLarge) { return {memory(number), 0, bytes, true}; }

class OrderTest : public testing::Test {
 protected:
  Order::Step next(std::vector<Use> uses) { return order_.next(uses); }
  size_t queue(std::vector<Use> uses) {
    const Order::Step step = next(std::move(uses));
    EXPECT_FALSE(step.main_waits || step.aside_waits);
    return step.queue;
  }
  Order order_;
};

TEST_F(OrderTest, LargeOnesThatShareNothingGoToBothQueuesInTurn) {
  for (size_t i = 0; i < 10; i++) {
    EXPECT_EQ(queue({reads(1), writes(100 + i, 4096)}), i % 2);
    EXPECT_EQ(queue({reads(100 + i, 4096), writes(200 + i, 4)}), i % 2) << "it needs the first";
  }
}

TEST_F(OrderTest, SmallOnesStay) {
  for (size_t i = 0; i < 10; i++) EXPECT_EQ(queue({reads(1, 1000), writes(100 + i, 1000)}), kMain);
}

TEST_F(OrderTest, WhatIsWrittenAgainStays) {
  for (int i = 0; i < 10; i++) EXPECT_EQ(queue({reads(1), writes(2)}), kMain);
}

TEST_F(OrderTest, PartsOfABufferAreApart) {
  EXPECT_EQ(queue({{memory(1), 0, kLarge, true}}), kMain);
  EXPECT_EQ(queue({{memory(1), kLarge, 2 * kLarge, true}}), kAside);
  EXPECT_EQ(queue({{memory(1), kLarge - 4, kLarge, true}}), kMain);
}

TEST_F(OrderTest, WhoNeedsBothWaits) {
  EXPECT_EQ(queue({writes(1)}), kMain);
  EXPECT_EQ(queue({writes(2)}), kAside);
  const Order::Step step = next({reads(1), reads(2), writes(3)});
  EXPECT_TRUE(step.main_waits);
  EXPECT_FALSE(step.aside_waits);
  EXPECT_EQ(step.queue, kMain);
  EXPECT_FALSE(order_.join()) << "it did";
}

TEST_F(OrderTest, JoiningWaitsOnce) {
  EXPECT_FALSE(order_.join());
  queue({writes(1)});
  EXPECT_FALSE(order_.join());
  EXPECT_EQ(queue({writes(2)}), kAside);
  EXPECT_TRUE(order_.join());
  EXPECT_FALSE(order_.join());
}

TEST_F(OrderTest, WhatHasEndedIsNoHindrance) {
  EXPECT_EQ(queue({writes(1)}), kMain);
  EXPECT_EQ(queue({writes(2)}), kAside);
  order_.ended(kMain, order_.given(kMain));
  EXPECT_EQ(queue({reads(1), writes(2)}), kAside);
  order_.ended(kAside, order_.given(kAside));
  EXPECT_FALSE(order_.join());
}

// A command begins after those that it has to wait for, whatever was waited for before.
TEST_F(OrderTest, AnyCommandsHaveTheResultsOfOneQueue) {
  std::mt19937_64 random(7);
  const auto below = [&](uint64_t count) { return random() % count; };
  size_t aside = 0;
  for (int round = 0; round < 200; round++) {
    Order order;
    struct Command {
      std::vector<Use> uses;
      size_t queue, number;
    };
    std::vector<Command> commands;
    // Of each queue, how many commands of each queue its next one comes after.
    size_t counts[2] = {}, seen[2][2] = {};
    const auto wait = [&](size_t queue) {
      for (size_t q = 0; q < 2; q++)
        seen[queue][q] = std::max(seen[queue][q], q == queue ? counts[q] : seen[1 - queue][q]);
      seen[queue][1 - queue] = counts[1 - queue];
    };
    const uint64_t buffers = 2 + below(30), most = 1 + below(round % 10 == 0 ? 80 : 6);
    for (int i = 0; i < 300; i++) {
      if (below(40) == 0) {
        // The host has waited for a queue.
        const size_t queue = below(2);
        order.ended(queue, counts[queue]);
        for (auto& of : seen) of[queue] = counts[queue];
        continue;
      }
      if (below(40) == 0) {
        if (order.join()) wait(kMain);
        for (const Command& c : commands)
          EXPECT_TRUE(c.queue == kMain || seen[kMain][kAside] >= c.number);
        continue;
      }
      Command command;
      const uint64_t bytes = below(2) == 0 ? kLarge : 4096;
      for (uint64_t k = 0; k < 1 + below(most); k++) {
        const uint64_t from = below(2) * bytes;
        command.uses.push_back({memory(1 + below(buffers)), from, from + bytes, below(3) == 0});
      }
      const Order::Step step = order.next(command.uses);
      if (step.main_waits) wait(kMain);
      if (step.aside_waits) wait(kAside);
      command.queue = step.queue;
      command.number = ++counts[step.queue];
      aside += step.queue;
      ASSERT_EQ(order.given(step.queue), command.number);
      for (const Command& c : commands)
        for (const Use& a : c.uses)
          for (const Use& b : command.uses) {
            const bool meet = a.memory == b.memory && a.from < b.to && b.from < a.to;
            if (!meet || !(a.written || b.written) || c.queue == command.queue) continue;
            ASSERT_GE(seen[command.queue][c.queue], c.number) << "round " << round;
          }
      commands.push_back(std::move(command));
    }
  }
  EXPECT_GT(aside, 1000u);
}

}  // namespace
}  // namespace hologram::backends::opencl
