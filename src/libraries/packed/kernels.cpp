#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "core/processor.hpp"
#include "libraries/packed/copies-inl.hpp"
#include "libraries/packed/packed.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

// A rectangle of d whose sums stay in registers, with some left for what is multiplied.
constexpr int64_t kRows = HWY_TARGET == HWY_AVX2 ? 6 : 14;
constexpr int64_t kRowsApart = HWY_TARGET == HWY_AVX2 ? 8 : 16;  // of a term of a panel of a

template <class T>
constexpr int64_t kWide = 2 * kLanes<T>;
// Columns of a few rows of d whose sums stay in the nearest cache; the fewer, the more often memory
// is read from another place.
template <class T, int64_t kHeight>
constexpr int64_t kStripe = (16384 >> (kHeight - 1)) / sizeof(T);

// Where b is: in a near cache or, read for the first time, far off, from where it may be copied.
enum class From { Near, Far, FarCopied };

// A few terms of so many rows of a, as they lie or copied. Places are those of every third row, by
// one and two rows: there are not as many registers as rows, and compilers take one for each.
template <class T, int64_t kHeight, bool kCopied>
class TermsOfRows {
 public:
  explicit TermsOfRows(const RowsOfA<T>& a) : one_(a.apart), two_(2 * a.apart) {
    for (int64_t i = 0; i < kPlaces; i++) places_[i] = a.first + i * 3 * a.apart;
    if constexpr (!kCopied) asm("" : "+r"(one_), "+r"(two_));
  }
  HWY_INLINE T at(int64_t term, int64_t row) const {
    if constexpr (kCopied) return places_[0][term * kRowsApart + row];
    return places_[row / 3][(row % 3 == 0 ? 0 : row % 3 == 1 ? one_ : two_) + term];
  }
  HWY_INLINE void go_on(int64_t terms) {
    for (int64_t i = 0; i < kPlaces; i++) places_[i] += terms * (kCopied ? kRowsApart : 1);
  }

 private:
  static constexpr int64_t kPlaces = kCopied ? 1 : (kHeight + 2) / 3;
  const T* places_[kPlaces];
  int64_t one_, two_;
};

// A block of terms for kHeight rows of d, kVectors wide, of panels that are kWide.
template <class T, int64_t kHeight, From kFrom, int64_t kVectors = 2, bool kCopied = true>
void rectangle(const RowsOfA<T>& a, const T* b, int64_t term, T* copy, int64_t terms, bool add,
               T* d, int64_t ldd) {
  constexpr Tag<T> tag;
  TermsOfRows<T, kHeight, kCopied> rows(a);
  constexpr int64_t kAhead = 16;  // rows of b
  hn::Vec<Tag<T>> sums[kHeight][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums)
#pragma GCC unroll 2
    for (auto& sum : row) sum = hn::Zero(tag);
  const auto add_term = [&](int64_t p, int64_t q) HWY_ATTR {
    const T* const row = b + p * term;
    const auto y0 = hn::LoadU(tag, row), y1 = hn::LoadU(tag, row + (kVectors - 1) * kLanes<T>);
    if constexpr (kFrom != From::Near) {
      hwy::Prefetch(row + kAhead * term);
      hwy::Prefetch(row + kAhead * term + kLanes<T>);
      // What is read next: the nearest cache has too few places for lines that are on their way.
      __builtin_prefetch(row + kWide<T>, 0, core::kToSecondCache);
      __builtin_prefetch(row + kWide<T> + kLanes<T>, 0, core::kToSecondCache);
    }
    if constexpr (kFrom == From::FarCopied) {
      hn::StoreU(y0, tag, copy + p * kWide<T>);
      hn::StoreU(y1, tag, copy + p * kWide<T> + kLanes<T>);
    }
#pragma GCC unroll 14
    for (int64_t r = 0; r < kHeight; r++) {
      const auto x = hn::Set(tag, rows.at(q, r));
      sums[r][0] = hn::MulAdd(x, y0, sums[r][0]);
      if constexpr (kVectors > 1) sums[r][1] = hn::MulAdd(x, y1, sums[r][1]);
    }
  };
  const auto prefetch = [&](const T* of) HWY_ATTR {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++) hwy::Prefetch(of + v * kLanes<T>);
  };
  // Many rows of d are prefetched one after the other, every few terms: a core has few places for
  // lines that are on their way from afar, and b's need some.
  constexpr bool kInTurn = kRows > 8;
  constexpr int64_t kTerms = 4;
  const T* const last = d + (kHeight - 1) * ldd;
  const T* next = d;
#pragma GCC unroll 14
  for (int64_t r = kInTurn ? terms / kTerms : 0; r < kHeight; r++, next += ldd) prefetch(next);
  int64_t p = 0;
  for (; p + kTerms <= terms; p += kTerms) {
    if constexpr (kInTurn) {
      prefetch(next);
      next = next == last ? last : next + ldd;
    }
#pragma GCC unroll 4
    for (int64_t q = 0; q < kTerms; q++) add_term(p + q, q);
    rows.go_on(kTerms);
  }
  for (; p < terms; p++) {
    add_term(p, 0);
    rows.go_on(1);
  }
  // All rows are read before one is written: where they lie 4 KiB apart, a processor takes what it
  // wrote to one for what it reads of the next.
#pragma GCC unroll 14
  for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++)
      sums[r][v] =
          hn::Add(add ? hn::LoadU(tag, d + r * ldd + v * kLanes<T>) : hn::Zero(tag), sums[r][v]);
#pragma GCC unroll 14
  for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++) hn::StoreU(sums[r][v], tag, d + r * ldd + v * kLanes<T>);
}

// Some terms of the sums of so many rows of d: b is read along its rows, as memory likes it, each
// element once. The last vector may lie over the one before it. `kAnnounces`: the terms after
// these, as the first cache has no room for as many columns of as many terms.
template <class T, class B, int64_t kHeight, int64_t kTerms, bool kAnnounces>
void add_terms(const T* a, int64_t a_row, int64_t a_term, const B* b, int64_t ldb, int64_t columns,
               bool more, T* sums) {
  constexpr Tag<T> tag;
  hn::Vec<Tag<T>> x[kHeight][kTerms];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 16
    for (int64_t t = 0; t < kTerms; t++) x[r][t] = hn::Set(tag, a[r * a_row + t * a_term]);
  // Places of terms from every fourth one on, by one, two and three rows: there are not as many
  // registers as terms, and compilers take one for each.
  int64_t three = 3 * ldb;
  asm("" : "+r"(three));
  for (int64_t i = 0; i < columns; i += kLanes<T>) {
    const B* const y = b + std::max<int64_t>(0, std::min(i, columns - kLanes<T>));
    const B* fourth = y;
    hn::Vec<Tag<T>> sum[kHeight];
#pragma GCC unroll 4
    for (int64_t r = 0; r < kHeight; r++)
      sum[r] = more ? hn::Load(tag, sums + r * kStripe<T, kHeight> + i) : hn::Zero(tag);
#pragma GCC unroll 16
    for (int64_t t = 0; t < kTerms; t++) {
      if (t % 4 == 0) {
        fourth = y + t * ldb;
        asm("" : "+r"(fourth));
      }
      if (kAnnounces) __builtin_prefetch(y + (kTerms + t) * ldb, 0, core::kToSecondCache);
      const auto term = upcast<T>(fourth + (t % 4 == 3 ? three : t % 4 * ldb));
#pragma GCC unroll 4
      for (int64_t r = 0; r < kHeight; r++) sum[r] = hn::MulAdd(x[r][t], term, sum[r]);
    }
#pragma GCC unroll 4
    for (int64_t r = 0; r < kHeight; r++)
      hn::Store(sum[r], tag, sums + r * kStripe<T, kHeight> + i);
  }
}

// Fewer columns than a vector has are copied, if b is of the same type; else there are as many.
template <class T, class B, int64_t kHeight, bool kAnnounces>
void stripe(const T* a, int64_t a_row, int64_t a_term, const B* b, int64_t ldb, int64_t terms,
            int64_t columns, T* d, int64_t ldd) {
  constexpr Tag<T> tag;
  constexpr int64_t kTerms = (HWY_TARGET == HWY_AVX2 ? 4 : 8) * (kHeight == 1 ? 2 : 1);
  HWY_ALIGN T sums[kHeight * kStripe<T, kHeight>], totals[kHeight * kStripe<T, kHeight>];
  HWY_ALIGN T few[kTermsOfBlock * kLanes<T>] = {};
  for (int64_t first = 0; first < terms; first += kTermsOfBlock) {
    const int64_t count = std::min(kTermsOfBlock, terms - first);
    const T* const x = a + first * a_term;
    const B* y = b + first * ldb;
    int64_t step = ldb;
    if constexpr (std::is_same_v<B, T>) {
      if (columns < kLanes<T>) {
        copy_ends(y, ldb, count, columns, few, kLanes<T>);
        y = few;
        step = kLanes<T>;
      }
    }
    int64_t p = 0;
    for (; p + kTerms <= count; p += kTerms)
      add_terms<T, B, kHeight, kTerms, kAnnounces>(x + p * a_term, a_row, a_term, y + p * step,
                                                   step, columns, p > 0, sums);
    for (; p < count; p++)
      add_terms<T, B, kHeight, 1, kAnnounces>(x + p * a_term, a_row, a_term, y + p * step, step,
                                              columns, p > 0, sums);
    for (int64_t r = 0; r < kHeight; r++)
      for (int64_t i = r * kStripe<T, kHeight>; i < r * kStripe<T, kHeight> + columns;
           i += kLanes<T>) {
        const auto before = first > 0 ? hn::Load(tag, totals + i) : hn::Zero(tag);
        hn::Store(hn::Add(before, hn::Load(tag, sums + i)), tag, totals + i);
      }
  }
  for (int64_t r = 0; r < kHeight; r++) {
    const T* const from = totals + r * kStripe<T, kHeight>;
    T* const to = d + r * ldd;
    if (columns < kLanes<T>) copy_row(from, columns, to);
    else
      for (int64_t i = 0; i < columns; i += kLanes<T>)
        hn::StoreU(hn::Load(tag, from + i), tag, to + std::min(i, columns - kLanes<T>));
  }
}

template <class T, class B, int64_t kHeight, bool kAnnounces>
void some_rows(const T* a, int64_t a_row, int64_t a_term, const B* b, int64_t ldb, int64_t terms,
               int64_t columns, T* d, int64_t ldd) {
  for (int64_t i = 0; i < columns; i += kStripe<T, kHeight>)
    stripe<T, B, kHeight, kAnnounces>(a, a_row, a_term, b + i, ldb, terms,
                                      std::min(kStripe<T, kHeight>, columns - i), d + i, ldd);
}

// What has AVX2 and no more reads one row of d's terms sooner by itself. What has AVX-512 does so
// for all heights: on a Zen 5, a row and a matrix of 40 MB take 0.8 of the time, on an Emerald
// Rapids 0.87. A Zen 4 does so as long as its caches hold the matrix; else a row takes 0.85 of the
// time with prefetches, two and three 0.5 to 0.8.
template <class T, class B>
void multiply_rows(const T* a, int64_t a_row, int64_t a_term, const B* b, int64_t ldb,
                   int64_t terms, int64_t rows, int64_t columns, bool far, T* d, int64_t ldd) {
  const bool announces = HWY_TARGET != HWY_AVX3 || (far && core::is_zen4());
  using SomeRows = decltype(&some_rows<T, B, 1, false>);
  static constexpr SomeRows kQuiet[] = {&some_rows<T, B, 1, false>, &some_rows<T, B, 2, false>,
                                        &some_rows<T, B, 3, false>},
                            kAnnouncing[] = {&some_rows<T, B, 1, HWY_TARGET != HWY_AVX2>,
                                             &some_rows<T, B, 2, true>, &some_rows<T, B, 3, true>};
  static_assert(std::size(kQuiet) == kFewRows && std::size(kAnnouncing) == kFewRows);
  (announces ? kAnnouncing : kQuiet)[rows - 1](a, a_row, a_term, b, ldb, terms, columns, d, ldd);
}

template <class T>
struct Height {
  int64_t rows;
  decltype(&rectangle<T, 1, From::Near>) run;
};
// From high to low, so that a few calls make up what is left.
constexpr int64_t kHalf = kRows > 8 ? 8 : 4;
template <class T, From kFrom, int64_t kVectors = 2, bool kCopied = true>
constexpr Height<T> kHeights[] = {{kRows, &rectangle<T, kRows, kFrom, kVectors, kCopied>},
                                  {kHalf, &rectangle<T, kHalf, kFrom, kVectors, kCopied>},
                                  {4, &rectangle<T, 4, kFrom, kVectors, kCopied>},
                                  {2, &rectangle<T, 2, kFrom, kVectors, kCopied>},
                                  {1, &rectangle<T, 1, kFrom, kVectors, kCopied>}};
template <class T>
void multiply(const RowsOfA<T>& a, const Panels<T>& b, int64_t terms, int64_t rows, int64_t columns,
              bool add, T* d, int64_t ldd) {
  static_assert(kRowsApart <= kMostApart && kWide<T> <= kMostColumns);
  HWY_ALIGN T edge[kRows * kWide<T>];
  for (int64_t column = 0; column < columns; column += kWide<T>) {
    const int64_t there = std::min(kWide<T>, columns - column);
    const bool whole = there == kWide<T>;
    const T* const y = whole ? b.first + column / kWide<T> * b.apart : b.rest;
    if (whole && b.copies != nullptr) {
      rectangle<T, kRows, From::FarCopied>(a, y, b.term, b.copies + column * terms, terms, add,
                                           d + column, ldd);
      continue;
    }
    const bool wide = there > kLanes<T>;
    const Height<T>* height =
        whole && b.far ? kHeights<T, From::Far>
        : a.apart > 0
            ? (wide ? kHeights<T, From::Near, 2, false> : kHeights<T, From::Near, 1, false>)
        : wide ? kHeights<T, From::Near>
               : kHeights<T, From::Near, 1>;
    for (int64_t row = 0; row < rows; row += height->rows) {
      while (height->rows > rows - row) height++;
      const RowsOfA<T> x = {a.first + row * (a.apart > 0 ? a.apart : 1), a.apart};
      T* const to = d + row * ldd + column;
      if (whole) {
        height->run(x, y, b.term, nullptr, terms, add, to, ldd);
        continue;
      }
      for (int64_t r = 0; r < height->rows && add; r++)
        copy_row(to + r * ldd, there, edge + r * kWide<T>);
      height->run(x, y, kWide<T>, nullptr, terms, add, edge, kWide<T>);
      for (int64_t r = 0; r < height->rows; r++) copy_row(edge + r * kWide<T>, there, to + r * ldd);
    }
  }
}

template <class T>
const Kernels<T>* all() {
  static constexpr Kernels<T> kAll = [] {
    Kernels<T> all = {.rows = kRows,
                      .apart = kRowsApart,
                      .columns = kWide<T>,
                      .copy = &copy<T>,
                      .multiply = &multiply<T>,
                      .multiply_rows = &multiply_rows<T, T>};
    if constexpr (std::is_same_v<T, float>) {
      // What numbers that are none carry would be lost by NEON's instruction for f16.
      if (HWY_TARGET != HWY_NEON) all.f16 = {&multiply_rows<float, Half>, &widen<float, Half>};
      all.bf16 = {&multiply_rows<float, BFloat>, &widen<float, BFloat>};
    }
    return all;
  }();
  return &kAll;
}

#else

template <class T>
const Kernels<T>* all() {
  return nullptr;
}

#endif

const Kernels<float>* f32() { return all<float>(); }
const Kernels<double>* f64() { return all<double>(); }

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_SIMD_DISPATCH(const Kernels<float>*, kernels(float), f32)
HOLOGRAM_SIMD_DISPATCH(const Kernels<double>*, kernels(double), f64)

}  // namespace hologram::libraries::packed
#endif
