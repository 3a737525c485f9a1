#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "libraries/packed/packed.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

namespace hn = hwy::HWY_NAMESPACE;

// A rectangle of d whose sums stay in registers, with some left for what is multiplied.
constexpr int64_t kVectors = 2;
constexpr int64_t kRows = HWY_TARGET == HWY_AVX2 ? 6 : 14;
constexpr int64_t kRowsApart = HWY_TARGET == HWY_AVX2 ? 8 : 16;  // of a term of a panel of a

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
template <class T>
constexpr int64_t kWide = kVectors* kLanes<T>;

// A slice of terms for kHeight rows of d, kWide columns wide, block after block.
template <class T, int64_t kHeight>
void rectangle(const T* a, const T* b, int64_t terms, bool add, T* d, int64_t ldd) {
  constexpr Tag<T> tag;
  constexpr int64_t term = kWide<T>;
  HWY_ALIGN T totals[kHeight * kWide<T>];
  for (int64_t first = 0; first < terms; first += kTermsOfBlock) {
    const int64_t end = std::min(first + kTermsOfBlock, terms);
    hn::Vec<Tag<T>> sums[kHeight][kVectors];
#pragma GCC unroll 14
    for (auto& row : sums)
#pragma GCC unroll 2
      for (auto& sum : row) sum = hn::Zero(tag);
#pragma GCC unroll 4
    for (int64_t p = first; p < end; p++) {
      const auto y0 = hn::LoadU(tag, b + p * term), y1 = hn::LoadU(tag, b + p * term + kLanes<T>);
#pragma GCC unroll 14
      for (int64_t r = 0; r < kHeight; r++) {
        const auto x = hn::Set(tag, a[p * kRowsApart + r]);
        sums[r][0] = hn::MulAdd(x, y0, sums[r][0]);
        sums[r][1] = hn::MulAdd(x, y1, sums[r][1]);
      }
    }
    const bool last = end == terms;
#pragma GCC unroll 14
    for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; v++) {
        T* const in_d = d + r * ldd + v * kLanes<T>;
        T* const total = totals + (r * kVectors + v) * kLanes<T>;
        const auto before = first > 0 ? hn::Load(tag, total)
                            : add     ? hn::LoadU(tag, in_d)
                                      : hn::Zero(tag);
        hn::StoreU(hn::Add(before, sums[r][v]), tag, last ? in_d : total);
      }
  }
}

// The same for one row of d and kMany vectors of its columns: as fast as b is read.
template <class T, int64_t kMany>
void piece_of_row(const T* a, const T* b, int64_t term, int64_t terms, bool add, T* d) {
  constexpr Tag<T> tag;
  constexpr int64_t kAhead = 12;  // terms
  hn::Vec<Tag<T>> totals[kMany];
#pragma GCC unroll 8
  for (int64_t v = 0; v < kMany; v++)
    totals[v] = add ? hn::LoadU(tag, d + v * kLanes<T>) : hn::Zero(tag);
  for (int64_t first = 0; first < terms; first += kTermsOfBlock) {
    const int64_t end = std::min(first + kTermsOfBlock, terms);
    hn::Vec<Tag<T>> sums[kMany];
#pragma GCC unroll 8
    for (auto& sum : sums) sum = hn::Zero(tag);
    for (int64_t p = first; p < end; p++) {
      const auto x = hn::Set(tag, a[p * kRowsApart]);
      const T* const y = b + p * term;
#pragma GCC unroll 8
      for (int64_t v = 0; v < kMany; v++) {
        __builtin_prefetch(y + kAhead * term + v * kLanes<T>);
        sums[v] = hn::MulAdd(x, hn::LoadU(tag, y + v * kLanes<T>), sums[v]);
      }
    }
#pragma GCC unroll 8
    for (int64_t v = 0; v < kMany; v++) totals[v] = hn::Add(totals[v], sums[v]);
  }
#pragma GCC unroll 8
  for (int64_t v = 0; v < kMany; v++) hn::StoreU(totals[v], tag, d + v * kLanes<T>);
}

// Four neighbours of four rows as four rows of four neighbours; of f64, two.
template <class T>
HWY_INLINE void turn(const T* from, int64_t row, T* to, int64_t to_row) {
  constexpr hn::CappedTag<T, 16 / sizeof(T)> tag;
  const auto in = [&](int64_t r) HWY_ATTR { return hn::LoadU(tag, from + r * row); };
  const auto out = [&](int64_t r, auto v) HWY_ATTR { hn::StoreU(v, tag, to + r * to_row); };
  if constexpr (sizeof(T) == 8) {
    const auto x = in(0), y = in(1);
    out(0, hn::InterleaveLower(tag, x, y));
    out(1, hn::InterleaveUpper(tag, x, y));
  } else {
    const auto x = in(0), y = in(1), z = in(2), w = in(3);
    const auto xz = hn::InterleaveLower(tag, x, z), yw = hn::InterleaveLower(tag, y, w);
    out(0, hn::InterleaveLower(tag, xz, yw));
    out(1, hn::InterleaveUpper(tag, xz, yw));
    const auto xz2 = hn::InterleaveUpper(tag, x, z), yw2 = hn::InterleaveUpper(tag, y, w);
    out(2, hn::InterleaveLower(tag, xz2, yw2));
    out(3, hn::InterleaveUpper(tag, xz2, yw2));
  }
}

// A few vectors: a call would take longer.
template <class T>
void copy_row(const T* from, int64_t count, T* to) {
  constexpr Tag<T> tag;
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) hn::StoreU(hn::LoadU(tag, from + i), tag, to + i);
  for (; i < count; i++) to[i] = from[i];
}

// to[i * to_row + j] of rows and columns of from, which is that or, transposed, from[j * from_row +
// i].
template <class T>
void copy(const T* from, int64_t from_row, bool transposed, int64_t rows, int64_t columns, T* to,
          int64_t to_row) {
  if (!transposed) {
    constexpr int64_t kAhead = 16, kLine = 64 / sizeof(T);
    for (int64_t i = 0; i < rows; i++) {
      const T* const row = from + i * from_row;
      for (int64_t j = 0; j < columns; j += kLine) __builtin_prefetch(row + kAhead * from_row + j);
      copy_row(row, columns, to + i * to_row);
    }
    return;
  }
  constexpr int64_t kSquare = 16 / sizeof(T);
  const int64_t down = rows - rows % kSquare, across = columns - columns % kSquare;
  for (int64_t j = 0; j < across; j += kSquare)
    for (int64_t i = 0; i < down; i += kSquare)
      turn(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = j < across ? down : 0; i < rows; i++)
      to[i * to_row + j] = from[j * from_row + i];
}

template <class T>
void multiply_rows(const T* a, const T* b, int64_t term, int64_t terms, int64_t rows,
                   int64_t columns, bool add, T* d, int64_t ldd) {
  constexpr int64_t kMany = HWY_TARGET == HWY_AVX2 ? 6 : 8, kWhole = kMany * kLanes<T>;
  // What is left at the end is done with columns before it, elsewhere, and before those change.
  const int64_t rest = columns >= kWhole ? columns % kWhole : 0;
  for (int64_t r = 0; r < rows; r++) {
    T* const to = d + r * ldd;
    HWY_ALIGN T end[kWhole];
    if (rest > 0) {
      if (add) std::copy_n(to + columns - kWhole, kWhole, end);
      piece_of_row<T, kMany>(a + r, b + columns - kWhole, term, terms, add, end);
    }
    int64_t column = 0;
    for (; column + kWhole <= columns; column += kWhole)
      piece_of_row<T, kMany>(a + r, b + column, term, terms, add, to + column);
    if (rest > 0) std::copy_n(end + kWhole - rest, rest, to + column);
  }
  if (columns >= kWhole) return;
  int64_t column = 0;
  for (; column + kLanes<T> <= columns; column += kLanes<T>)
    for (int64_t r = 0; r < rows; r++)
      piece_of_row<T, 1>(a + r, b + column, term, terms, add, d + r * ldd + column);
  const int64_t few = columns - column;
  if (few == 0) return;
  HWY_ALIGN T last[kSlice * kLanes<T>] = {}, sums[kLanes<T>] = {};
  for (int64_t p = 0; p < terms; p++) copy_row(b + p * term + column, few, last + p * kLanes<T>);
  for (int64_t r = 0; r < rows; r++) {
    T* const to = d + r * ldd + column;
    if (add) copy_row(to, few, sums);
    piece_of_row<T, 1>(a + r, last, kLanes<T>, terms, add, sums);
    copy_row(sums, few, to);
  }
}

template <class T>
void multiply(const T* a, const T* b, int64_t slice, int64_t terms, int64_t rows, int64_t columns,
              bool add, T* d, int64_t ldd) {
  struct Height {
    int64_t rows;
    decltype(&rectangle<T, 1>) run;
  };
  // From high to low, so that a few calls make up what is left.
  static constexpr Height kHeights[] = {
      {kRows, &rectangle<T, kRows>}, {4, &rectangle<T, 4>}, {1, &rectangle<T, 1>}};
  HWY_ALIGN T edge[kRows * kWide<T>];
  for (int64_t column = 0; column < columns; column += kWide<T>) {
    const T* const y = b + column * slice;
    const int64_t there = std::min(kWide<T>, columns - column);
    const Height* height = kHeights;
    for (int64_t row = 0; row < rows; row += height->rows) {
      while (height->rows > rows - row) height++;
      const T* const x = a + row / kRows * kRowsApart * kSlice + row % kRows;
      T* const to = d + row * ldd + column;
      if (there == kWide<T>) {
        height->run(x, y, terms, add, to, ldd);
        continue;
      }
      for (int64_t r = 0; r < height->rows && add; r++)
        copy_row(to + r * ldd, there, edge + r * kWide<T>);
      height->run(x, y, terms, add, edge, kWide<T>);
      for (int64_t r = 0; r < height->rows; r++) copy_row(edge + r * kWide<T>, there, to + r * ldd);
    }
  }
}

template <class T>
const Kernels<T>* all() {
  static constexpr Kernels<T> kAll = {kRows,    kRowsApart,   kWide<T>,
                                      &copy<T>, &multiply<T>, &multiply_rows<T>};
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

#define KERNELS(type, name)                                     \
  HWY_EXPORT(name);                                             \
  const Kernels<type>* kernels(type) {                          \
    static const auto* const best = [] {                        \
      if constexpr ((HWY_TARGETS) != HWY_STATIC_TARGET)         \
        hwy::GetChosenTarget().Update(hwy::SupportedTargets()); \
      return HWY_DYNAMIC_DISPATCH(name)();                      \
    }();                                                        \
    return best;                                                \
  }
KERNELS(float, f32)
KERNELS(double, f64)

}  // namespace hologram::libraries::packed
#endif
