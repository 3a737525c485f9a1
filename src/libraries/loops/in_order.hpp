// Puts numbers in order.
#pragma once

#include <algorithm>
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

// The same without vector instructions.
template <class N>
void put_few_in_order(N* numbers, int64_t count, bool descending) {
  const auto after = [](const N& a, const N& b) { return b < a; };
  if (descending) std::sort(numbers, numbers + count, after);
  else std::sort(numbers, numbers + count);
}

// What both files make of put_in_order, in_order.cpp and in_order_web.cpp.
#define HOLOGRAM_PUTS_IN_ORDER                          \
  template void put_in_order(int16_t*, int64_t, bool);  \
  template void put_in_order(uint16_t*, int64_t, bool); \
  template void put_in_order(int32_t*, int64_t, bool);  \
  template void put_in_order(uint32_t*, int64_t, bool); \
  template void put_in_order(int64_t*, int64_t, bool);  \
  template void put_in_order(uint64_t*, int64_t, bool); \
  template void put_in_order(Wide*, int64_t, bool);

}  // namespace hologram::libraries::loops
