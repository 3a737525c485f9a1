#include "libraries/loops/in_order.hpp"

namespace hologram::libraries::loops {

template <class N>
void put_in_order(N* numbers, int64_t count, bool descending) {
  put_few_in_order(numbers, count, descending);
}

HOLOGRAM_PUTS_IN_ORDER

}  // namespace hologram::libraries::loops
