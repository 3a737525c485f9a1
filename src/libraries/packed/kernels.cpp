#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "libraries/accumulation.hpp"
#include "libraries/packed/packed.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

// A rectangle of d whose sums stay in registers, with some left for what is multiplied.
constexpr int64_t kVectors = 2;
constexpr int64_t kRows = HWY_TARGET == HWY_AVX2 ? 6 : 14;
// A block of terms of so many rows of a and bytes of rows of b is copied at a time, to where rows do
// not meet in the cache.
constexpr int64_t kMostRows = 256;
constexpr size_t kMostBytes = 1024;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
template <class T>
constexpr int64_t kColumns = kVectors * kLanes<T>;

// Adds a block of terms to kHeight rows of d, kColumns wide. Rows of a are kTermsOfBlock apart,
// terms of y ldy.
template <class T, int64_t kHeight>
void rectangle(const T* a, const T* y, int64_t ldy, int64_t terms, bool first, T* d, int64_t ldd) {
  constexpr Tag<T> tag;
  hn::Vec<Tag<T>> sums[kHeight][kVectors];
#pragma GCC unroll 14
  for (auto& row : sums)
#pragma GCC unroll 2
    for (auto& sum : row) sum = hn::Zero(tag);
  // There by the time the sums are.
#pragma GCC unroll 14
  for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++) __builtin_prefetch(d + r * ldd + v * kLanes<T>);
  for (int64_t p = 0; p < terms; p++) {
    const auto y0 = hn::LoadU(tag, y + p * ldy), y1 = hn::LoadU(tag, y + p * ldy + kLanes<T>);
#pragma GCC unroll 14
    for (int64_t r = 0; r < kHeight; r++) {
      const auto x = hn::Set(tag, a[r * kTermsOfBlock + p]);
      sums[r][0] = hn::MulAdd(x, y0, sums[r][0]);
      sums[r][1] = hn::MulAdd(x, y1, sums[r][1]);
    }
  }
#pragma GCC unroll 14
  for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++) {
      T* const to = d + r * ldd + v * kLanes<T>;
      hn::StoreU(hn::Add(first ? hn::Zero(tag) : hn::LoadU(tag, to), sums[r][v]), tag, to);
    }
}

// Four neighbours of four rows as four rows of four neighbours; of f64, two.
template <class T>
void turn(const T* from, int64_t row, T* to, int64_t to_row) {
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

// to[i * to_row + j] of rows and columns of from, which is that or, transposed, from[j * from_row + i].
template <class T>
void copy(const T* from, int64_t from_row, bool transposed, int64_t rows, int64_t columns, T* to,
          int64_t to_row) {
  if (!transposed) {
    for (int64_t i = 0; i < rows; i++) copy_row(from + i * from_row, columns, to + i * to_row);
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
class Product {
 public:
  explicit Product(const Operands<T>& operands) : o_(operands) {}

  void run() {
    for (int64_t column = 0; column < o_.n; column += kMostColumns)
      for (int64_t row = 0; row < o_.m; row += kMostRows)
        for (int64_t first = 0; first < o_.k; first += kTermsOfBlock)
          block({row, std::min(kMostRows, o_.m - row)},
                {column, std::min(kMostColumns, o_.n - column)},
                {first, std::min(kTermsOfBlock, o_.k - first)});
  }

 private:
  static constexpr int64_t kWide = kColumns<T>, kMostColumns = kMostBytes / sizeof(T);
  static_assert(kMostColumns % kWide == 0);

  struct Range {
    int64_t first, count;
  };
  struct Height {
    int64_t rows;
    decltype(&rectangle<T, 1>) run;
  };
  // From high to low, so that a few calls make up what is left.
  static constexpr Height kHeights[] = {
      {kRows, &rectangle<T, kRows>}, {4, &rectangle<T, 4>}, {1, &rectangle<T, 1>}};

  // Adds a block of terms to some rows of some columns.
  void block(Range rows, Range columns, Range terms) {
    copy(o_.a + (o_.transpose_a ? terms.first * o_.lda + rows.first
                                : rows.first * o_.lda + terms.first),
         o_.lda, o_.transpose_a, rows.count, terms.count, a_, kTermsOfBlock);
    // A few rows read each element a few times: a copy would not pay.
    const bool in_place = !o_.transpose_b && columns.count % kWide == 0 && rows.count <= kRows;
    if (!in_place) copy_b(columns, terms);
    T* const d = o_.d + rows.first * o_.ldd + columns.first;
    for (int64_t j = 0; j < columns.count; j += kWide)
      strip(rows.count, std::min(kWide, columns.count - j), terms,
            in_place ? o_.b + terms.first * o_.ldb + columns.first + j : b_ + j * kTermsOfBlock,
            in_place ? o_.ldb : kWide, d + j);
  }

  // Columns by as many as a rectangle is wide, with zeros behind the last.
  void copy_b(Range columns, Range terms) {
    const int64_t whole = columns.count - columns.count % kWide;
    T* const last = b_ + whole * kTermsOfBlock;
    if (whole < columns.count) std::fill_n(last, terms.count * kWide, T{0});
    if (o_.transpose_b) {
      for (int64_t j = 0; j < columns.count; j += kWide)
        copy(o_.b + (columns.first + j) * o_.ldb + terms.first, o_.ldb, true, terms.count,
             std::min(kWide, columns.count - j), b_ + j * kTermsOfBlock, kWide);
      return;
    }
    for (int64_t p = 0; p < terms.count; p++) {
      const T* const from = o_.b + (terms.first + p) * o_.ldb + columns.first;
      for (int64_t j = 0; j < whole; j += kWide)
        copy_row(from + j, kWide, b_ + j * kTermsOfBlock + p * kWide);
      copy_row(from + whole, columns.count - whole, last + p * kWide);
    }
  }

  void strip(int64_t rows, int64_t columns, Range terms, const T* y, int64_t ldy, T* d) {
    const bool fresh = terms.first == 0;
    const T* a = a_;
    const Height* height = kHeights;
    while (rows > 0) {
      while (height->rows > rows) height++;
      if (columns == kWide) {
        height->run(a, y, ldy, terms.count, fresh, d, o_.ldd);
      } else {
        for (int64_t r = 0; r < height->rows && !fresh; r++)
          copy_row(d + r * o_.ldd, columns, edge_ + r * kWide);
        height->run(a, y, ldy, terms.count, fresh, edge_, kWide);
        for (int64_t r = 0; r < height->rows; r++)
          copy_row(edge_ + r * kWide, columns, d + r * o_.ldd);
      }
      rows -= height->rows;
      a += height->rows * kTermsOfBlock;
      d += height->rows * o_.ldd;
    }
  }

  const Operands<T>& o_;
  HWY_ALIGN T a_[kMostRows * kTermsOfBlock];
  HWY_ALIGN T b_[kTermsOfBlock * kMostColumns];
  HWY_ALIGN T edge_[kRows * kWide];
};

template <class T>
void multiply(const Operands<T>& o) {
  Product<T>(o).run();
}

Kernels kernels() { return {&multiply<float>, &multiply<double>}; }

#else

Kernels kernels() { return {}; }

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HWY_EXPORT(kernels);

const Kernels& kernels() {
  static const Kernels best = [] {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return HWY_DYNAMIC_DISPATCH(kernels)();
  }();
  return best;
}

}  // namespace hologram::libraries::packed
#endif
