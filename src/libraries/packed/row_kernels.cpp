#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include "libraries/packed/best.hpp"
#include "libraries/packed/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

// Where vectors are shorter, the compiled program is as good.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr Tag kTag;
constexpr int64_t kWidth = hn::MaxLanes(Tag());
constexpr int kFew = kFewLanes / kWidth, kMany = kManyLanes / kWidth;  // vectors of lanes

// What a group's lanes add up begins with 0. Where it begins with a product or an element instead,
// it can be -0 in place of 0, which changes no sum but one that is 0 itself: the last step puts
// that right.

// The tree of a vector: lanes half of it apart first.
HWY_INLINE float root(V all) {
  const auto four = [](auto eight) HWY_ATTR {
    const hn::Half<decltype(hn::DFromV<decltype(eight)>())> half;
    return hn::Add(hn::LowerHalf(half, eight), hn::UpperHalf(half, eight));
  };
  const hn::Full128<float> quarter;
  const auto of_four = [&](auto v) HWY_ATTR {
    const auto two = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(hn::Add(two, hn::Shuffle2301(two)), hn::Zero(quarter)));
  };
#if HWY_TARGET == HWY_AVX3
  return of_four(four(four(all)));
#else
  return of_four(four(all));
#endif
}

template <bool kProducts>
HWY_INLINE V term(const float* a, const float* x) {
  const V v = hn::LoadU(kTag, a);
  return kProducts ? hn::Mul(v, hn::LoadU(kTag, x)) : v;
}

template <bool kProducts, class Mask>
HWY_INLINE V part(Mask some, const float* a, const float* x) {
  const V v = hn::MaskedLoad(some, kTag, a);
  return kProducts ? hn::Mul(v, hn::MaskedLoad(some, kTag, x)) : v;
}

// The tree of a group: lanes half of it apart first.
template <int kVectors>
HWY_INLINE float tree(V (&sums)[kVectors]) {
#pragma GCC unroll 5
  for (int half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 16
    for (int v = 0; v < half; v++) sums[v] = hn::Add(sums[v], sums[v + half]);
  return root(sums[0]);
}

// Adds what is left behind the last whole turn of the lanes.
template <bool kProducts>
HWY_INLINE void add_rest(const float* a, const float* x, int64_t left, float* totals) {
  const int64_t whole = left / kWidth * kWidth;
  const auto add = [&](int64_t i, V more) HWY_ATTR {
    hn::Store(hn::Add(more, hn::Load(kTag, totals + i)), kTag, totals + i);
  };
  for (int64_t i = 0; i < whole; i += kWidth) add(i, term<kProducts>(a + i, x + i));
  if (whole == left) return;
  const auto some = hn::FirstN(kTag, static_cast<size_t>(left - whole));
  add(whole, part<kProducts>(some, a + whole, x + whole));
}

// A run of many lanes. Memory is read from one end to the other, even where there are not as many
// registers as vectors of lanes: a sum on the stack takes less time than to come back for what was
// left out.
template <bool kProducts>
HWY_INLINE void run(const float* a, const float* x, int64_t length, float* totals) {
  const int64_t full = length / kManyLanes * kManyLanes;
  V sums[kMany];
  if (full > 0) {
#pragma GCC unroll 32
    for (int v = 0; v < kMany; v++) sums[v] = term<kProducts>(a + v * kWidth, x + v * kWidth);
    for (int64_t i = kManyLanes; i < full; i += kManyLanes)
#pragma GCC unroll 32
      for (int v = 0; v < kMany; v++)
        sums[v] = hn::Add(term<kProducts>(a + i + v * kWidth, x + i + v * kWidth), sums[v]);
  } else {
#pragma GCC unroll 32
    for (auto& sum : sums) sum = hn::Zero(kTag);
  }
#pragma GCC unroll 32
  for (int v = 0; v < kMany; v++) hn::Store(sums[v], kTag, totals + v * kWidth);
  add_rest<kProducts>(a + full, x + full, length - full, totals);
}

template <int64_t kLanes>
HWY_INLINE void add_lanes(const float* more, float* totals) {
  for (int64_t i = 0; i < kLanes; i += kWidth)
    hn::Store(hn::Add(hn::Load(kTag, totals + i), hn::Load(kTag, more + i)), kTag, totals + i);
}

template <int64_t kLanes>
HWY_INLINE float tree_of(const float* totals) {
  constexpr int kHalf = kLanes / kWidth / 2;
  V sums[kHalf];
#pragma GCC unroll 16
  for (int v = 0; v < kHalf; v++)
    sums[v] =
        hn::Add(hn::Load(kTag, totals + v * kWidth), hn::Load(kTag, totals + (v + kHalf) * kWidth));
  return tree<kHalf>(sums);
}

template <bool kProducts>
HWY_INLINE float row_of_many(const float* a, const float* x, int64_t length) {
  constexpr int64_t kElements = kRun * kManyLanes;
  HWY_ALIGN float totals[kManyLanes], more[kManyLanes];
  run<kProducts>(a, x, std::min(kElements, length), totals);
  for (int64_t first = kElements; first < length; first += kElements) {
    run<kProducts>(a + first, x + first, std::min(kElements, length - first), more);
    add_lanes<kManyLanes>(more, totals);
  }
  return tree_of<kManyLanes>(totals);
}

#if HWY_TARGET == HWY_AVX2

// Rows of a large matrix side by side, with one vector: more of memory is on its way than of one
// row alone, and that all sums are on the stack does not matter.
constexpr int kSide = 4;

template <int64_t kLanes>
HWY_INLINE void run_beside(const float* a, int64_t step, const float* x, int64_t length,
                           float (*totals)[kLanes]) {
  const int64_t full = length / kLanes * kLanes;
  for (int r = 0; r < kSide; r++) std::fill_n(totals[r], kLanes, 0.0f);
  for (int64_t i = 0; i < full; i += kLanes)
    for (int64_t v = 0; v < kLanes; v += kWidth) {
      const V y = hn::LoadU(kTag, x + i + v);
#pragma GCC unroll 4
      for (int r = 0; r < kSide; r++) {
        const V product = hn::Mul(hn::LoadU(kTag, a + r * step + i + v), y);
        hn::Store(hn::Add(product, hn::Load(kTag, totals[r] + v)), kTag, totals[r] + v);
      }
    }
  for (int r = 0; r < kSide; r++)
    add_rest<true>(a + r * step + full, x + full, length - full, totals[r]);
}

template <int64_t kLanes>
HWY_INLINE void rows_beside(const float* a, int64_t step, const float* x, int64_t length,
                            float* y) {
  constexpr int64_t kElements = kRun * kLanes;
  HWY_ALIGN float totals[kSide][kLanes], more[kSide][kLanes];
  run_beside<kLanes>(a, step, x, std::min(kElements, length), totals);
  for (int64_t first = kElements; first < length; first += kElements) {
    run_beside<kLanes>(a + first, step, x + first, std::min(kElements, length - first), more);
    for (int r = 0; r < kSide; r++) add_lanes<kLanes>(more[r], totals[r]);
  }
  for (int r = 0; r < kSide; r++) y[r] = tree_of<kLanes>(totals[r]);
}

#endif

template <bool kProducts>
void by_many(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
             int64_t length, float* y) {
  for (int64_t r = 0; r < rows; r++)
    y[r] = row_of_many<kProducts>(a + r * step, x + r * step_x, length);
}

// Shorter rows stay in registers to the end: all lanes have as many elements, then some have one
// more, in kTail vectors, of which the last may be a part.
template <bool kProducts, int kTail>
void with_tail(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
               int64_t length, float* y) {
  constexpr int64_t kLast = (kTail - 1) * kWidth;
  const int64_t full = (length - 1) / kFewLanes * kFewLanes;
  const auto some = hn::FirstN(kTag, static_cast<size_t>(length - full - kLast));
  for (int64_t r = 0; r < rows; r++, a += step, x += step_x) {
    V sums[kFew];
    if (full > 0) {
#pragma GCC unroll 32
      for (int v = 0; v < kFew; v++) sums[v] = term<kProducts>(a + v * kWidth, x + v * kWidth);
      for (int64_t i = kFewLanes; i < full; i += kFewLanes)
#pragma GCC unroll 32
        for (int v = 0; v < kFew; v++)
          sums[v] = hn::Add(term<kProducts>(a + i + v * kWidth, x + i + v * kWidth), sums[v]);
    } else {
#pragma GCC unroll 32
      for (auto& sum : sums) sum = hn::Zero(kTag);
    }
    const float *const from = a + full, *const of_x = x + full;
#pragma GCC unroll 16
    for (int v = 0; v < kTail - 1; v++)
      sums[v] = hn::Add(term<kProducts>(from + v * kWidth, of_x + v * kWidth), sums[v]);
    sums[kTail - 1] = hn::Add(part<kProducts>(some, from + kLast, of_x + kLast), sums[kTail - 1]);
    y[r] = tree<kFew>(sums);
  }
}

template <bool kProducts, int... kTails>
constexpr auto with_tails(std::integer_sequence<int, kTails...>) {
  return std::array{&with_tail<kProducts, kTails + 1>...};
}

template <bool kProducts>
void by_few(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
            int64_t length, float* y) {
  static constexpr auto kAll = with_tails<kProducts>(std::make_integer_sequence<int, kFew>());
  kAll[static_cast<size_t>((length - 1) % kFewLanes / kWidth)](a, step, x, step_x, rows, length, y);
}

#if HWY_TARGET == HWY_AVX3

// With one vector, two rows go side by side.

// Of so many rows side by side, which share what is read of the vector. Of the first vector, `skip`
// lanes are left out; there, x has zeros.
template <int kVectors, int kRows, bool kBegin, bool kSkips>
HWY_INLINE void add(const float* a, int64_t step, const float* x, int64_t skip, V (*sums)[kRows]) {
  const auto rest = hn::Not(hn::FirstN(kTag, static_cast<size_t>(skip)));
#pragma GCC unroll 32
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
#pragma GCC unroll 32
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
#pragma GCC unroll 2
    for (int r = 0; r < kRows; r++) y[r * apart] = root(sums[0][r]);
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
void by_vector(const float* a, int64_t step, const float* x, int64_t rows, int64_t length,
               float* y) {
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

void few_products(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                  int64_t length, float* y) {
  if (step_x == 0) by_vector(a, step, x, rows, length, y);
  else by_few<true>(a, step, x, step_x, rows, length, y);
}

#else

constexpr Rows* few_products = &by_few<true>;

template <int64_t kLanes>
void far_products(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                  int64_t length, float* y) {
  int64_t r = 0;
  for (; r + kSide <= rows; r += kSide) rows_beside<kLanes>(a + r * step, step, x, length, y + r);
  if (r == rows) return;
  constexpr Rows* kNear = kLanes == kFewLanes ? &by_few<true> : &by_many<true>;
  kNear(a + r * step, step, x, step_x, rows - r, length, y + r);
}

#endif

const RowKernels* all() {
#if HWY_TARGET == HWY_AVX2
  static constexpr RowKernels kAll = {&by_few<false>,  few_products,   &far_products<kFewLanes>,
                                      &by_many<false>, &by_many<true>, &far_products<kManyLanes>};
#else
  static constexpr RowKernels kAll = {&by_few<false>,  few_products,   few_products,
                                      &by_many<false>, &by_many<true>, &by_many<true>};
#endif
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
