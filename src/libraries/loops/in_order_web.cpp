#include <algorithm>

#include "libraries/loops/in_order.hpp"

namespace hologram::libraries::loops {

template <class N>
void put_in_order(N* numbers, int64_t count, bool descending) {
  const auto after = [](const N& a, const N& b) { return b < a; };
  if (descending) std::sort(numbers, numbers + count, after);
  else std::sort(numbers, numbers + count);
}

template void put_in_order(int16_t*, int64_t, bool);
template void put_in_order(uint16_t*, int64_t, bool);
template void put_in_order(int32_t*, int64_t, bool);
template void put_in_order(uint32_t*, int64_t, bool);
template void put_in_order(int64_t*, int64_t, bool);
template void put_in_order(uint64_t*, int64_t, bool);
template void put_in_order(Wide*, int64_t, bool);

}  // namespace hologram::libraries::loops
