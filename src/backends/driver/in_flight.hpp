// What launches write that may still be going on when the next one starts to read.
#pragma once

#include <array>
#include <span>

#include "backends/driver/program.hpp"

namespace hologram::backends::driver {

// Of a stream on which kernels are brought to the device before those in front have ended
// (programmatic dependent launch). Every kernel waits for all in front of it before it writes, most
// before they read. One that can read earlier may, if it reads nothing that is written by the last
// kernel that waited at its beginning, or by one since: what was in front of that had ended then.
class InFlight {
 public:
  // Other work than kernels: what it writes is not known.
  void add_unknown() { known_ = false; }

  // A launch with these arguments. Whether it may read at once.
  bool add(const Kernel& kernel, const uint64_t* values, std::span<const hal::Binding> bindings) {
    const bool early = kernel.early && known_ && reads_nothing(kernel, values, bindings);
    if (!early) count_ = 0;
    known_ = true;
    for (size_t i = 0; i < kernel.slots.size(); i++) {
      if (!kernel.slots[i].written) continue;
      if (count_ < kMost) written_[count_++] = range_of(kernel, values, bindings, i);
      else known_ = false;
    }
    return early;
  }

 private:
  static constexpr size_t kMost = 16;
  struct Range {
    Address from, to;
  };

  static Range range_of(const Kernel& kernel, const uint64_t* values,
                        std::span<const hal::Binding> bindings, size_t argument) {
    return {values[argument], values[argument] + bindings[kernel.slots[argument].slot].size};
  }

  bool reads_nothing(const Kernel& kernel, const uint64_t* values,
                     std::span<const hal::Binding> bindings) const {
    for (size_t i = 0; i < kernel.slots.size(); i++) {
      if (!kernel.slots[i].read) continue;
      const Range range = range_of(kernel, values, bindings, i);
      for (size_t w = 0; w < count_; w++)
        if (range.from < written_[w].to && written_[w].from < range.to) return false;
    }
    return true;
  }

  std::array<Range, kMost> written_ = {};
  size_t count_ = 0;
  bool known_ = false;
};

}  // namespace hologram::backends::driver
