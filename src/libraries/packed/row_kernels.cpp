#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/row_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/processor.hpp"
#include "libraries/packed/row_sums-inl.hpp"
#include "libraries/packed/rows.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

// Where vectors are shorter, the compiled program is as good.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

// A run of many lanes. Memory is read from one end to the other, even where there are not as many
// registers as vectors of lanes: a sum on the stack takes less time than to come back for what was
// left out.
template <bool kProducts, int64_t kAhead>
HWY_INLINE void run(const float* a, const float* x, int64_t length, bool first, float* totals) {
  const int64_t full = length / kManyLanes * kManyLanes;
  V sums[kMany];
  if (full > 0) {
#pragma GCC unroll 32
    for (int v = 0; v < kMany; v++)
      sums[v] = term<kProducts, kAhead>(a + v * kWidth, x + v * kWidth);
    for (int64_t i = kManyLanes; i < full; i += kManyLanes)
#pragma GCC unroll 32
      for (int v = 0; v < kMany; v++)
        sums[v] = hn::Add(term<kProducts, kAhead>(a + i + v * kWidth, x + i + v * kWidth), sums[v]);
  } else {
#pragma GCC unroll 32
    for (auto& sum : sums) sum = hn::Zero(kTag);
  }
  if (full == length) return to_totals<kManyLanes>(sums, first, totals);
  HWY_ALIGN float more[kManyLanes];
  float* const to = first ? totals : more;
  to_totals<kManyLanes>(sums, true, to);
  add_rest<kProducts, kAhead>(a + full, x + full, length - full, to);
  if (!first) add_lanes<kManyLanes>(more, totals);
}

template <bool kProducts, int64_t kAhead>
HWY_INLINE float row_of_many(const float* a, const float* x, int64_t length) {
  constexpr int64_t kElements = kRun * kManyLanes;
  HWY_ALIGN float totals[kManyLanes];
  for (int64_t at = 0; at < length; at += kElements)
    run<kProducts, kAhead>(a + at, x + at, std::min(kElements, length - at), at == 0, totals);
  return tree_of<kManyLanes>(totals);
}

// Rows of a large matrix side by side, with one vector: more of memory is on its way than of one
// row alone, and the vector is read once for all of them. That all sums are on the stack does not
// matter then. With AVX-512, where Zen 4 alone goes this way, lines are announced so many elements
// ahead, to the second cache: to the first, that takes longer than without.
constexpr int kSide = HWY_TARGET == HWY_AVX2 ? 4 : 8;
constexpr int64_t kAheadBeside = HWY_TARGET == HWY_AVX2 ? 0 : 256;

template <int64_t kLanes>
HWY_INLINE void run_beside(const float* a, int64_t step, const float* x, int64_t length,
                           float (*totals)[kLanes]) {
  const int64_t full = length / kLanes * kLanes;
  for (int r = 0; r < kSide; r++) std::fill_n(totals[r], kLanes, 0.0f);
  for (int64_t i = 0; i < full; i += kLanes)
    for (int64_t v = 0; v < kLanes; v += kWidth) {
      const V y = hn::LoadU(kTag, x + i + v);
#pragma GCC unroll 8
      for (int r = 0; r < kSide; r++) {
        const float* const from = a + r * step + i + v;
        if (kAheadBeside > 0) __builtin_prefetch(from + kAheadBeside, 0, core::kToSecondCache);
        const V product = hn::Mul(hn::LoadU(kTag, from), y);
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

template <bool kProducts, int64_t kAhead = 0>
void by_many(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
             int64_t length, float* y) {
  for (int64_t r = 0; r < rows; r++)
    y[r] = row_of_many<kProducts, kAhead>(a + r * step, x + r * step_x, length);
}

// Shorter rows stay in registers to the end: all lanes have as many elements, then some have one
// more, in kTail vectors, of which the last may be a part.
template <bool kProducts, int64_t kAhead, int kTail>
void with_tail(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
               int64_t length, float* y) {
  constexpr int64_t kLast = (kTail - 1) * kWidth;
  const int64_t full = (length - 1) / kFewLanes * kFewLanes;
  const auto some = hn::FirstN(kTag, static_cast<size_t>(length - full - kLast));
  for (int64_t r = 0; r < rows; r++, a += step, x += step_x) {
    V sums[kFew];
    if (full > 0) {
#pragma GCC unroll 32
      for (int v = 0; v < kFew; v++)
        sums[v] = term<kProducts, kAhead>(a + v * kWidth, x + v * kWidth);
      for (int64_t i = kFewLanes; i < full; i += kFewLanes)
#pragma GCC unroll 32
        for (int v = 0; v < kFew; v++)
          sums[v] =
              hn::Add(term<kProducts, kAhead>(a + i + v * kWidth, x + i + v * kWidth), sums[v]);
    } else {
#pragma GCC unroll 32
      for (auto& sum : sums) sum = hn::Zero(kTag);
    }
    const float *const from = a + full, *const of_x = x + full;
#pragma GCC unroll 16
    for (int v = 0; v < kTail - 1; v++)
      sums[v] = hn::Add(term<kProducts, kAhead>(from + v * kWidth, of_x + v * kWidth), sums[v]);
    sums[kTail - 1] =
        hn::Add(part<kProducts, kAhead>(some, from + kLast, of_x + kLast), sums[kTail - 1]);
    y[r] = tree<kFew>(sums);
  }
}

template <bool kProducts, int64_t kAhead, int... kTails>
constexpr auto with_tails(std::integer_sequence<int, kTails...>) {
  return std::array{&with_tail<kProducts, kAhead, kTails + 1>...};
}

template <bool kProducts, int64_t kAhead = 0>
void by_few(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
            int64_t length, float* y) {
  static constexpr auto kAll =
      with_tails<kProducts, kAhead>(std::make_integer_sequence<int, kFew>());
  kAll[static_cast<size_t>((length - 1) % kFewLanes / kWidth)](a, step, x, step_x, rows, length, y);
}

#if HWY_TARGET == HWY_AVX2

// Of what lies in a cache, lanes are added up as many at a time as there are registers for, and
// the others after them: to come back for what was left out takes less time there than sums on the
// stack do.
constexpr int kAtATime = 8;  // vectors

// Whole turns of some of the lanes.
template <bool kProducts>
HWY_INLINE void add_turns(const float* a, const float* x, int64_t full, V (&sums)[kAtATime]) {
  each<kAtATime>([&](auto v)
                     HWY_ATTR { sums[v] = term<kProducts>(a + v * kWidth, x + v * kWidth); });
  for (int64_t i = kManyLanes; i < full; i += kManyLanes)
    each<kAtATime>([&](auto v) HWY_ATTR {
      sums[v] = hn::Add(term<kProducts>(a + i + v * kWidth, x + i + v * kWidth), sums[v]);
    });
}

template <bool kProducts>
HWY_INLINE void near_run(const float* a, const float* x, int64_t length, bool first,
                         float* totals) {
  const int64_t full = length / kManyLanes * kManyLanes;
  HWY_ALIGN float more[kManyLanes];
  float* const to = first || full == length ? totals : more;
  const bool sets = to == more || first;
  if (full == 0) std::fill_n(to, kManyLanes, 0.0f);
  for (int64_t l = 0; l < kManyLanes && full > 0; l += kAtATime * kWidth) {
    V sums[kAtATime];
    add_turns<kProducts>(a + l, x + l, full, sums);
    to_totals<kAtATime * kWidth>(sums, sets, to + l);
  }
  if (full == length) return;
  add_rest<kProducts>(a + full, x + full, length - full, to);
  if (!first) add_lanes<kManyLanes>(more, totals);
}

template <bool kProducts>
void near_by_many(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                  int64_t length, float* y) {
  constexpr int64_t kElements = kRun * kManyLanes;
  for (int64_t r = 0; r < rows; r++, a += step, x += step_x) {
    HWY_ALIGN float totals[kManyLanes];
    for (int64_t at = 0; at < length; at += kElements)
      near_run<kProducts>(a + at, x + at, std::min(kElements, length - at), at == 0, totals);
    y[r] = tree_of<kManyLanes>(totals);
  }
}

#endif

#if HWY_TARGET == HWY_AVX3

// With one vector. An access of two lines takes twice as long, so rows are read from the beginning
// of a line on. Lanes whose elements begin further on make the same sums, transposed by as many,
// and the tree is the same for all of them.

constexpr int64_t kMostWays = kWidth;
using Mask = hn::Mask<Tag>;

// How rows that begin at the same place of a line are read.
struct Way {
  int64_t skip;    // elements of the line before the row
  const float* x;  // what the first lane of a row's first line is multiplied with
  Mask first, last_but_one, last;
};

// Elements before the row in its line of memory.
int64_t before(const float* row) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) / sizeof(float) % kWidth);
}

// The lanes of a vector that begins at `at` which hold elements `begin` to `end` - 1.
Mask lanes_within(int64_t at, int64_t begin, int64_t end) {
  const auto up_to = [&](int64_t to) {
    return hn::FirstN(kTag, static_cast<size_t>(std::clamp<int64_t>(to - at, 0, kWidth)));
  };
  return hn::AndNot(up_to(begin), up_to(end));
}

// Whole turns of the lanes; of the first vector, only those lanes.
template <int64_t kAhead, int kVectors>
HWY_INLINE void add_turns(const float* a, const float* x, Mask first, int64_t turns,
                          V (&sums)[kVectors]) {
  sums[0] = part<true, kAhead>(first, a, x);
  each<kVectors - 1>([&](auto v) HWY_ATTR {
    constexpr int k = v + 1;
    sums[k] = term<true, kAhead>(a + k * kWidth, x + k * kWidth);
  });
  for (int64_t t = 1; t < turns; t++) {
    a += kVectors * kWidth, x += kVectors * kWidth;
    each<kVectors>([&](auto v) HWY_ATTR {
      sums[v] = hn::Add(term<true, kAhead>(a + v * kWidth, x + v * kWidth), sums[v]);
    });
  }
}

// Rows of so many whole turns of the lanes, then `kTail` vectors, of which the last two may be
// parts.
template <int64_t kAhead, int kTail>
void rows_by_few(const float* a, int64_t step, const Way* ways, int64_t many, int64_t rows,
                 int64_t turns, float* y) {
  for (int64_t r = 0, w = 0; r < rows; r++, w = w + 1 == many ? 0 : w + 1, a += step) {
    const Way& way = ways[w];
    const float *const from = a - way.skip, *const tail = from + turns * kFewLanes,
                       *const of_x = way.x + turns * kFewLanes;
    V sums[kFew];
    if (turns > 0) {
      add_turns<kAhead>(from, way.x, way.first, turns, sums);
    } else {
      sums[0] = part<true, kAhead>(way.first, from, way.x);
      each<kFew - 1>([&](auto v) HWY_ATTR { sums[v + 1] = hn::Zero(kTag); });
    }
    each<kTail>([&](auto v) HWY_ATTR {
      if (v == 0 && turns == 0) return;
      const float *const f = tail + v * kWidth, *const g = of_x + v * kWidth;
      const V more = v == kTail - 1   ? part<true, kAhead>(way.last, f, g)
                     : v == kTail - 2 ? part<true, kAhead>(way.last_but_one, f, g)
                                      : term<true, kAhead>(f, g);
      sums[v % kFew] = hn::Add(more, sums[v % kFew]);
    });
    y[r] = tree<kFew>(sums);
  }
}

template <int64_t kAhead, int... kTails>
constexpr auto for_tails(std::integer_sequence<int, kTails...>) {
  return std::array{&rows_by_few<kAhead, kTails + 2>...};
}

// The vector lies in as many ways as rows begin in, if there is room for that.
template <int64_t kAhead>
void by_vector_of_few(const float* a, int64_t step, const float* x, int64_t /*step_x*/,
                      int64_t rows, int64_t length, float* y) {
  static constexpr auto kAll = for_tails<kAhead>(std::make_integer_sequence<int, kFew>());
  constexpr int64_t kRowsWorthACopy = 4;
  HWY_ALIGN float copies[2 * (kRun * kFewLanes + 2 * kWidth)];
  const int64_t many = std::min(rows, kWidth / std::gcd(step, kWidth));
  int64_t longest = 0;
  for (int64_t w = 0; w < many; w++) longest = std::max(longest, before(a + w * step) + length);
  const int64_t vectors = std::max<int64_t>((longest + kWidth - 1) / kWidth, 2);
  const bool copied = rows >= kRowsWorthACopy * many &&
                      many * vectors * kWidth <= static_cast<int64_t>(std::size(copies));
  Way ways[kMostWays];
  for (int64_t w = 0; w < many; w++) {
    const int64_t skip = before(a + w * step), end = skip + length;
    const auto lanes = [&](int64_t vector) { return lanes_within(vector * kWidth, skip, end); };
    ways[w] = {skip, x - skip, lanes(0), lanes(vectors - 2), lanes(vectors - 1)};
    if (!copied) continue;
    float* const to = copies + w * vectors * kWidth;
    hn::Store(hn::Zero(kTag), kTag, to);
    hn::Store(hn::Zero(kTag), kTag, to + (vectors - 2) * kWidth);
    hn::Store(hn::Zero(kTag), kTag, to + (vectors - 1) * kWidth);
    std::copy_n(x, length, to + skip);
    ways[w].x = to;
  }
  const int64_t turns = (vectors - 2) / kFew;
  kAll[static_cast<size_t>(vectors - 2 - turns * kFew)](a, step, ways, many, rows, turns, y);
}

// A run of many lanes of a row, `skip` elements of whose first line are not its own.
template <int64_t kAhead>
HWY_INLINE void turned_run(const float* a, const float* x, int64_t skip, int64_t length,
                           float* totals) {
  const int64_t end = skip + length, turns = end / kManyLanes;
  a -= skip, x -= skip;
  const Mask first = lanes_within(0, skip, end);
  V sums[kMany];
  int64_t done = turns * kManyLanes;
  if (turns > 0) {
    add_turns<kAhead>(a, x, first, turns, sums);
  } else {
    sums[0] = part<true, kAhead>(first, a, x);
    each<kMany - 1>([&](auto v) HWY_ATTR { sums[v + 1] = hn::Zero(kTag); });
    done = kWidth;
  }
  each<kMany>([&](auto v) HWY_ATTR { hn::Store(sums[v], kTag, totals + v * kWidth); });
  float* const to = totals + done % kManyLanes;
  if (done < end) add_rest<true, kAhead>(a + done, x + done, end - done, to);
}

template <int64_t kAhead>
void by_vector_of_many(const float* a, int64_t step, const float* x, int64_t /*step_x*/,
                       int64_t rows, int64_t length, float* y) {
  constexpr int64_t kElements = kRun * kManyLanes;
  HWY_ALIGN float totals[kManyLanes], more[kManyLanes];
  for (int64_t r = 0; r < rows; r++, a += step) {
    const int64_t skip = before(a);
    turned_run<kAhead>(a, x, skip, std::min(kElements, length), totals);
    for (int64_t at = kElements; at < length; at += kElements) {
      turned_run<kAhead>(a + at, x + at, skip, std::min(kElements, length - at), more);
      add_lanes<kManyLanes>(more, totals);
    }
    y[r] = tree_of<kManyLanes>(totals);
  }
}

#endif

template <int64_t kLanes>
void far_products(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                  int64_t length, float* y) {
  int64_t r = 0;
  for (; r + kSide <= rows; r += kSide) rows_beside<kLanes>(a + r * step, step, x, length, y + r);
  if (r == rows) return;
  constexpr Rows* kNear = kLanes == kFewLanes ? &by_few<true> : &by_many<true>;
  kNear(a + r * step, step, x, step_x, rows - r, length, y + r);
}

#if HWY_TARGET == HWY_AVX3

// Of a large matrix whose rows may be longer than what a core's cache keeps of the vector.
void long_products(const float* a, int64_t step, const float* x, int64_t step_x, int64_t rows,
                   int64_t length, float* y) {
  constexpr Rows *kOne = &by_many<true>, *kBeside = &far_products<kManyLanes>;
  (length <= kRun * kManyLanes ? kOne : kBeside)(a, step, x, step_x, rows, length, y);
}

#endif

// No cache holds so many elements.
constexpr int64_t kNoCache = 1 << 22;

std::span<const RowKernels> all() {
  constexpr auto kOthers = [] { return true; };
#if HWY_TARGET == HWY_AVX2
  // What caches hold of one matrix, and what the cache of a core holds of two.
  constexpr int64_t kRead = 1 << 21, kMultiplied = 1 << 16;
  static constexpr RowKernels kAll[] = {{
      kOthers,
      {{&by_few<false>, &by_few<false>, kNoCache},
       {&by_few<true>, &by_few<true>, kNoCache},
       {&by_few<true>, &far_products<kFewLanes>, kNoCache, kSide}},
      {{&near_by_many<false>, &by_many<false>, kRead},
       {&near_by_many<true>, &by_many<true>, kMultiplied},
       {&near_by_many<true>, &far_products<kManyLanes>, kRead, kSide}},
  }};
#else
  // Intel's read what the cache of a core holds sooner without announcements, and sums alone leave
  // them no room for any.
  constexpr int64_t kNoCacheOfACore = 1 << 18;
  static constexpr RowKernels::Reach kFewSums = {&by_few<false>, &by_few<false>, kNoCache},
                                     kManySums = {&by_many<false>, &by_many<false>, kNoCache},
                                     kFewProducts = {&by_few<true>, &by_few<true>, kNoCache},
                                     kManyProducts = {&by_many<true>, &by_many<true>, kNoCache};
  static constexpr RowKernels kAll[] = {
      // Zen 4 reads everything sooner unannounced, and one row after the other as long as its
      // cache of 32 KiB keeps the vector.
      {
          &core::is_zen4,
          {kFewSums, kFewProducts, kFewProducts},
          {kManySums, kManyProducts, {&by_many<true>, &long_products, kNoCache, kSide}},
      },
      // Zen 5.
      {
          &core::is_amd,
          {{&by_few<false, 1024>, &by_few<false, 2048>, kNoCache},
           kFewProducts,
           {&by_vector_of_few<1024>, &by_vector_of_few<4096>, kNoCache}},
          {{&by_many<false, 1024>, &by_many<false, 4096>, kNoCache},
           {&by_many<true, 1024>, &by_many<true>, kNoCache},
           {&by_vector_of_many<1024>, &by_vector_of_many<4096>, kNoCache}},
      },
      {
          kOthers,
          {kFewSums,
           kFewProducts,
           {&by_vector_of_few<0>, &by_vector_of_few<4096>, kNoCacheOfACore}},
          {kManySums,
           kManyProducts,
           {&by_vector_of_many<0>, &by_vector_of_many<4096>, kNoCacheOfACore}},
      },
  };
#endif
  return kAll;
}

#else

std::span<const RowKernels> all() { return {}; }

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_SIMD_DISPATCH(std::span<const RowKernels>, all_row_kernels(), all)

}  // namespace hologram::libraries::packed
#endif
