// Which of a device's two queues a command goes to.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/opencl/api.hpp"

namespace hologram::backends::opencl {

// Each queue runs in order, and the two side by side: while the last workgroups of a large kernel
// end, and what it left is read by the next, one that has nothing to do with them fills the device.
// Whatever uses the same memory goes to the same queue or waits for the other, so that commands
// have the results of one queue in order.
class Order {
 public:
  static constexpr size_t kMain = 0, kAside = 1;

  // Bytes of a buffer that a command reads or writes.
  struct Use {
    const Memory* memory = nullptr;
    uint64_t from = 0, to = 0;
    bool written = false;
  };
  // Where a command goes, and what comes before it: the main queue waits for all that the other was
  // given, and then the other for the main one.
  struct Step {
    bool main_waits = false, aside_waits = false;
    size_t queue = kMain;
  };

  Step next(std::span<const Use> uses) {
    Step step;
    if (under_way_.size() + uses.size() > kMost) {
      step.main_waits = step.aside_waits = any(kAside);
      known_ = step.main_waits;
      under_way_.clear();
    }
    std::array<bool, 2> same{};
    uint64_t bytes = 0;
    for (const Use& use : uses) {
      bytes += use.to - use.from;
      for (const UnderWay& other : under_way_)
        if (meet(use, other.use)) same[other.queue] = true;
    }
    const bool large = bytes >= kLarge && uses.size() <= kMost;
    if (same[kMain] && same[kAside]) {
      step.main_waits = true;
      forget(kAside, UINT64_MAX);
    } else if (same[kAside] || (!same[kMain] && large && last_large_ == kMain)) {
      step.queue = kAside;
    }
    if (step.queue == kAside && !known_) {
      step.aside_waits = known_ = true;
      forget(kMain, UINT64_MAX);
    }
    if (large) last_large_ = step.queue;
    numbers_[step.queue]++;
    if (uses.size() > kMost) known_ = false;
    else
      for (const Use& use : uses) note(use, step.queue);
    return step;
  }

  // Before a command on the main queue that comes after all others. Whether that has to wait for
  // the other queue.
  bool join() {
    const bool waits = any(kAside);
    forget(kAside, UINT64_MAX);
    return waits;
  }

  // How many commands a queue was given, and that so many of them have ended.
  uint64_t given(size_t queue) const { return numbers_[queue]; }
  void ended(size_t queue, uint64_t count) {
    forget(queue, count);
    if (queue == kMain && count == numbers_[kMain]) known_ = true;
  }

 private:
  static constexpr size_t kMost = 64;
  // Less would be done before a queue has waited for the other.
  static constexpr uint64_t kLarge = uint64_t{16} << 20;
  struct UnderWay {
    Use use;
    size_t queue;
    uint64_t number;
  };

  static bool meet(const Use& a, const Use& b) {
    return a.memory == b.memory && (a.written || b.written) && a.from < b.to && b.from < a.to;
  }

  bool any(size_t queue) const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [&](const UnderWay& each) { return each.queue == queue; });
  }

  void note(const Use& use, size_t queue) {
    for (UnderWay& other : under_way_) {
      if (other.queue != queue || other.use.memory != use.memory || other.use.from != use.from ||
          other.use.to != use.to)
        continue;
      other.use.written = other.use.written || use.written;
      other.number = numbers_[queue];
      return;
    }
    under_way_.push_back({use, queue, numbers_[queue]});
  }

  void forget(size_t queue, uint64_t up_to) {
    std::erase_if(under_way_, [&](const UnderWay& each) {
      return each.queue == queue && each.number <= up_to;
    });
  }

  std::vector<UnderWay> under_way_;
  std::array<uint64_t, 2> numbers_{};
  size_t last_large_ = kAside;
  bool known_ = true;  // no more is under way on the main queue than is listed
};

}  // namespace hologram::backends::opencl
