// Puts numbers in order.
#pragma once

#include <cstdint>

namespace hologram::libraries::loops {

// A key and, among those that are equal, its place.
struct alignas(16) Wide {
  uint64_t at, key;
  friend bool operator<(const Wide& a, const Wide& b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
};

// Integers of 16 to 64 bits, and Wide; `descending`: the greatest first.
template <class N>
void put_in_order(N* numbers, int64_t count, bool descending = false);

}  // namespace hologram::libraries::loops
