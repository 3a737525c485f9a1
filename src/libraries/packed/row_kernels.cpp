#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "libraries/packed/best.hpp"
#include "libraries/packed/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

// Where registers are fewer or shorter, the compiled program is as good.
#if HWY_TARGET == HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr Tag kTag;
constexpr int64_t kWidth = hn::MaxLanes(Tag());
constexpr int kFew = kFewLanes / kWidth, kMany = kManyLanes / kWidth;  // vectors of lanes

// What a group's lanes add up begins with 0. Where it begins with a product instead, it can be -0
// in place of 0, which changes no sum but one that is 0 itself: the last step puts that right.

// Of so many rows side by side, which share what is read of the vector. Of the first vector, `skip`
// lanes are left out; there, x has zeros.
template <int kVectors, int kRows, bool kBegin, bool kSkips>
HWY_INLINE void add(const float* a, int64_t step, const float* x, int64_t skip, V (*sums)[kRows]) {
  const auto rest = hn::Not(hn::FirstN(kTag, static_cast<size_t>(skip)));
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; v++) {
    const V y = hn::LoadU(kTag, x + v * kWidth);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; r++) {
      const float* const from = a + r * step + v * kWidth;
      const V of_row = kSkips && v == 0 ? hn::MaskedLoad(rest, kTag, from) : hn::LoadU(kTag, from);
      const V product = hn::Mul(of_row, y);
      sums[v][r] = kBegin ? product : hn::Add(product, sums[v][r]);
    }
  }
}

template <int kVectors, int kRows>
HWY_INLINE void clear(V (*sums)[kRows]) {
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; v++)
#pragma GCC unroll 2
    for (int r = 0; r < kRows; r++) sums[v][r] = hn::Zero(kTag);
}

// As many elements; of the other lanes, 0 times 0.
template <int kRows>
HWY_INLINE void add_some(const float* a, int64_t step, const float* x, int64_t elements, V* sums) {
  const auto some = hn::FirstN(kTag, static_cast<size_t>(elements));
  const V y = hn::MaskedLoad(some, kTag, x);
#pragma GCC unroll 2
  for (int r = 0; r < kRows; r++)
    sums[r] = hn::Add(hn::Mul(hn::MaskedLoad(some, kTag, a + r * step), y), sums[r]);
}

// The tree of a group: lanes half of it apart first.
template <int kVectors, int kRows>
HWY_INLINE void tree(V (*sums)[kRows], float* y, int64_t apart) {
  if constexpr (kVectors > 1) {
    constexpr int kHalf = kVectors / 2;
#pragma GCC unroll 8
    for (int v = 0; v < kHalf; v++)
#pragma GCC unroll 2
      for (int r = 0; r < kRows; r++) sums[v][r] = hn::Add(sums[v][r], sums[v + kHalf][r]);
    return tree<kHalf, kRows>(sums, y, apart);
  } else {
    const hn::Half<Tag> half;
    const hn::Half<hn::Half<Tag>> quarter;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; r++) {
      const V all = sums[0][r];
      const auto eight = hn::Add(hn::LowerHalf(half, all), hn::UpperHalf(half, all));
      const auto four = hn::Add(hn::LowerHalf(quarter, eight), hn::UpperHalf(quarter, eight));
      const auto two = hn::Add(four, hn::Shuffle1032(four));
      y[r * apart] = hn::GetLane(hn::Add(hn::Add(two, hn::Shuffle2301(two)), hn::Zero(quarter)));
    }
  }
}

// Rows side by side, `apart` in y: their elements `skip` to `length` - 1. They are as many as all
// lanes take some times, then some for `kTail` vectors.
template <int kRows, int kTail>
HWY_INLINE void few(const float* a, int64_t step, const float* x, int64_t skip, int64_t length,
                    float* y, int64_t apart) {
  constexpr int64_t kLast = (kTail - 1) * kWidth;
  const float* const end = a + (length - 1) / kFewLanes * kFewLanes;
  const int64_t left = length - (end - a) - kLast;
  V sums[kFew][kRows];
  if (a < end) {
    add<kFew, kRows, true, true>(a, step, x, skip, sums);
    for (a += kFewLanes, x += kFewLanes; a < end; a += kFewLanes, x += kFewLanes)
      add<kFew, kRows, false, false>(a, step, x, 0, sums);
    add<kTail - 1, kRows, false, false>(a, step, x, 0, sums);
  } else {
    clear<kFew, kRows>(sums);
    add<kTail - 1, kRows, false, true>(a, step, x, skip, sums);
  }
  add_some<kRows>(a + kLast, step, x + kLast, left, sums[kTail - 1]);
  tree<kFew, kRows>(sums, y, apart);
}

template <int kTail>
void rows_by_few(const float* a, int64_t step, const float* x, int64_t rows, int64_t skip,
                 int64_t length, float* y, int64_t apart) {
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2)
    few<2, kTail>(a + r * step, step, x, skip, length, y + r * apart, apart);
  if (r < rows) few<1, kTail>(a + r * step, step, x, skip, length, y + r * apart, apart);
}

HWY_INLINE void copy(const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) hn::StoreU(hn::LoadU(kTag, from + i), kTag, to + i);
  for (; i < count; i++) to[i] = from[i];
}

// Elements before the row in its line of memory.
int64_t before(const float* row) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % kWidth);
}

// An access of two lines takes twice as long. Lanes whose elements begin further on make the same
// sums, turned by as many, and the tree is the same for all of them: so rows are read from the
// beginning of a line on, and the vector lies in as many ways as rows begin in, if those are few.
void by_few(const float* a, int64_t step, const float* x, int64_t rows, int64_t length, float* y) {
  static constexpr decltype(&rows_by_few<1>) kTails[] = {
      &rows_by_few<1>, &rows_by_few<2>, &rows_by_few<3>, &rows_by_few<4>,
      &rows_by_few<5>, &rows_by_few<6>, &rows_by_few<7>, &rows_by_few<8>};
  static_assert(std::size(kTails) == kFew);
  constexpr int64_t kMostWays = 2, kRowsWorthACopy = 4;
  HWY_ALIGN float copies[kMostWays * (kRun * kFewLanes + 2 * kWidth)];
  int64_t ways = kWidth / std::gcd(step, kWidth);
  const int64_t room = (length + 2 * kWidth - 1) / kWidth * kWidth;
  const bool turned = ways <= kMostWays && rows >= kRowsWorthACopy * ways;
  if (!turned) ways = 1;
  const int64_t together = ways == 1 ? rows : 8;
  const auto skip = [&](int64_t row) { return turned ? before(a + row * step) : 0; };
  for (int64_t w = 0; w < ways; w++) {
    float* const to = copies + w * room;
    hn::Store(hn::Zero(kTag), kTag, to);
    hn::Store(hn::Zero(kTag), kTag, to + room - 2 * kWidth);
    hn::Store(hn::Zero(kTag), kTag, to + room - kWidth);
    copy(x, length, to + skip(w));
  }
  for (int64_t block = 0; block < rows; block += together * ways)
    for (int64_t w = 0; w < std::min(ways, rows - block); w++) {
      const int64_t row = block + w, left_out = skip(row), all = left_out + length;
      const int64_t some = std::min(together, (rows - row + ways - 1) / ways);
      kTails[(all - 1) % kFewLanes / kWidth](a + row * step - left_out, ways * step,
                                             copies + w * room, some, left_out, all, y + row, ways);
    }
}

// A run of one row.
HWY_INLINE void run(const float* a, const float* x, int64_t length, V (*sums)[1]) {
  int64_t i = 0;
  if (length >= kManyLanes) {
    add<kMany, 1, true, false>(a, 0, x, 0, sums);
    for (i = kManyLanes; i + kManyLanes <= length; i += kManyLanes)
      add<kMany, 1, false, false>(a + i, 0, x + i, 0, sums);
  } else {
    clear<kMany, 1>(sums);
  }
  if (i == length) return;
#pragma GCC unroll 16
  for (int v = 0; v < kMany; v++) {
    const int64_t at = std::min(length, i + v * kWidth);
    add_some<1>(a + at, 0, x + at, std::min(length - at, kWidth), sums[v]);
  }
}

void by_many(const float* a, int64_t step, const float* x, int64_t rows, int64_t length, float* y) {
  constexpr int64_t kElements = kRun * kManyLanes;
  for (int64_t r = 0; r < rows; r++) {
    const float* const row = a + r * step;
    V sums[kMany][1];
    run(row, x, std::min(length, kElements), sums);
    for (int64_t first = kElements; first < length; first += kElements) {
      V more[kMany][1];
      run(row + first, x + first, std::min(length - first, kElements), more);
#pragma GCC unroll 16
      for (int v = 0; v < kMany; v++) sums[v][0] = hn::Add(sums[v][0], more[v][0]);
    }
    tree<kMany, 1>(sums, y + r, 1);
  }
}

const RowKernels* all() {
  static constexpr RowKernels kAll = {&by_few, &by_many};
  return &kAll;
}

#else

const RowKernels* all() { return nullptr; }

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_BEST(const RowKernels*, row_kernels(), all)

}  // namespace hologram::libraries::packed
#endif
