// By Highway's sort (https://arxiv.org/abs/2205.05982), with the best vector instructions of the
// processor. That of floats is left alone: what is on Debian 12 loses infinities.
#include "libraries/loops/in_order.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

namespace hologram::libraries::loops {

namespace {

constexpr int64_t kFew = 16;  // less than it takes to begin

// Of the oldest processors it knows nothing, and aborts.
bool has_vectors() {
  constexpr int64_t kKnown = HWY_ARCH_X86 != 0 ? 2 * HWY_SSSE3 - 1 : HWY_NEON;
  static const bool has = (hwy::SupportedTargets() & kKnown) != 0;
  return has;
}

template <class N>
using As = std::conditional_t<std::is_same_v<N, Wide>, hwy::uint128_t, N>;
static_assert(offsetof(Wide, at) == offsetof(hwy::uint128_t, lo));
static_assert(offsetof(Wide, key) == offsetof(hwy::uint128_t, hi));

}  // namespace

template <class N>
void put_in_order(N* numbers, int64_t count, bool descending) {
  static_assert(sizeof(As<N>) == sizeof(N) && alignof(As<N>) == alignof(N));
  if (count <= kFew || !has_vectors()) return put_few_in_order(numbers, count, descending);
  const hwy::Sorter sorter;
  auto* const them = reinterpret_cast<As<N>*>(numbers);
  const auto many = static_cast<size_t>(count);
  if (descending) sorter(them, many, hwy::SortDescending());
  else sorter(them, many, hwy::SortAscending());
}

HOLOGRAM_PUTS_IN_ORDER

}  // namespace hologram::libraries::loops
