#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/loops/scan_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "libraries/best.hpp"
#include "libraries/loops/scan_kernels.hpp"
#include "libraries/squares.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::loops::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

[[maybe_unused]] constexpr int64_t kPiece = hal::ScanDesc::kPiece;

template <bool kProducts, class Vector>
HWY_INLINE Vector step(Vector a, Vector b) {
  if constexpr (kProducts) return hn::Mul(a, b);
  else return hn::Add(a, b);
}

template <class D>
HWY_INLINE LaneBits lanes_of(D tag, hn::Mask<D> mask) {
  HWY_ALIGN uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  return bytes[0] | static_cast<LaneBits>(bytes[1]) << 8;
}

template <class D>
HWY_INLINE hn::Mask<D> is_low(D tag, hn::Vec<D> v) {
  return hn::Lt(hn::Abs(v), hn::Set(tag, std::numeric_limits<hn::TFromD<D>>::min()));
}

// The running sums of lanes.
template <class D, bool kProducts>
class Running {
  using T = hn::TFromD<D>;
  static constexpr bool kWatched = kProducts && std::is_floating_point_v<T>;

 public:
  HWY_INLINE Running()
      : total_(hn::Set(D(), kProducts ? 1 : 0)),
        zero_(hn::Eq(total_, hn::Set(D(), 2))),
        low_(zero_) {}
  HWY_INLINE hn::Vec<D> next(hn::Vec<D> x) {
    total_ = step<kProducts>(total_, x);
    if constexpr (kWatched) {
      zero_ = hn::Or(zero_, hn::Eq(x, hn::Zero(tag_)));
      low_ = hn::Or(low_, hn::AndNot(zero_, is_low(tag_, total_)));
    }
    return total_;
  }
  HWY_INLINE hn::Vec<D> total() const { return total_; }
  HWY_INLINE hn::Mask<D> leaves() const {
    if constexpr (std::is_floating_point_v<T>) {
      // What is not finite stays so.
      const auto infinite = hn::Not(hn::IsFinite(total_));
      return kProducts ? hn::Or(low_, infinite) : infinite;
    } else {
      return low_;
    }
  }

 private:
  static constexpr D tag_ = {};
  hn::Vec<D> total_;
  hn::Mask<D> zero_, low_;
};

// What comes before the pieces in lanes, level by level.
template <class D, bool kProducts, size_t kLevels>
class Before {
  using T = hn::TFromD<D>;
  static constexpr bool kFloat = std::is_floating_point_v<T>;

 public:
  HWY_INLINE void begin(const T* starts, size_t apart) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kLevels; k++) {
      start_[k] = hn::LoadU(tag_, starts + k * apart);
      finite_[k] = hn::Zero(tag_);
      low_[k] = hn::Lt(finite_[k], finite_[k]);
    }
  }
  HWY_INLINE hn::Vec<D> add_to(hn::Vec<D> sum) {
    const auto zero = hn::Zero(tag_);
    hn::Vec<D> v = sum;
#pragma GCC unroll 4
    for (size_t k = 0; k < kLevels; k++) {
      v = step<kProducts>(start_[k], v);
      if constexpr (kFloat) finite_[k] = hn::MulAdd(v, zero, finite_[k]);  // or NaN from there on
      if constexpr (kFloat && kProducts)
        low_[k] = hn::Or(low_[k], hn::AndNot(hn::Eq(sum, zero), is_low(tag_, v)));
    }
    return v;
  }
  // What begins as infinite, NaN or 0 stays so by right.
  HWY_INLINE hn::Mask<D> leaves() const {
    const auto zero = hn::Zero(tag_);
    auto leaves = hn::Lt(zero, zero), known = leaves, nothing = leaves;
    if constexpr (kFloat)
      for (size_t k = 0; k < kLevels; k++) {
        known = hn::Or(known, hn::Not(hn::IsFinite(start_[k])));
        leaves = hn::Or(leaves, hn::AndNot(known, hn::Not(hn::IsFinite(finite_[k]))));
        if constexpr (!kProducts) continue;
        nothing = hn::Or(nothing, hn::Eq(start_[k], zero));
        leaves = hn::Or(leaves, hn::AndNot(nothing, low_[k]));
      }
    return leaves;
  }

 private:
  static constexpr size_t kRoom = kLevels == 0 ? 1 : kLevels;
  static constexpr D tag_ = {};
  hn::Vec<D> start_[kRoom], finite_[kRoom];
  hn::Mask<D> low_[kRoom];
};

// The first `count`, and zeros.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_some(D tag, const T* from, int64_t count) {
  HWY_ALIGN T some[hn::MaxLanes(D())] = {};
  for (int64_t k = 0; k < count; k++) some[k] = from[k];
  return hn::Load(tag, some);
}

template <class D, class T>
HWY_INLINE void store_some(D tag, hn::Vec<D> v, T* to, int64_t count) {
  HWY_ALIGN T some[hn::MaxLanes(D())];
  hn::Store(v, tag, some);
  for (int64_t k = 0; k < count; k++) to[k] = some[k];
}

template <class T>
bool leaves(const T* x, const T* products, int64_t count) {
  constexpr hn::ScalableTag<T> tag;
  const auto zero = hn::Zero(tag);
  auto low = hn::Lt(zero, zero);
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const auto look = [&](auto now, auto before, auto factor) HWY_ATTR {
    const auto zeros = hn::Or(hn::Eq(before, zero), hn::Eq(factor, zero));
    low = hn::Or(low, hn::AndNot(zeros, is_low(tag, now)));
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    look(hn::LoadU(tag, products + i), hn::LoadU(tag, products + i - 1), hn::LoadU(tag, x + i));
  if (const int64_t left = count - i; left > 0)
    look(load_some(tag, products + i, left), load_some(tag, products + i - 1, left),
         load_some(tag, x + i, left));
  return !hn::AllFalse(tag, low);
}

template <class T, bool kProducts, size_t kLevels>
bool add_to_row(const T* sums, T* y, int64_t count, const std::array<T, kMostLevels>& starts) {
  constexpr hn::ScalableTag<T> tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  HWY_ALIGN T before_all[kMostLevels * hn::MaxLanes(hn::ScalableTag<T>())];
  for (size_t k = 0; k < kLevels; k++)
    hn::Store(hn::Set(tag, starts[k]), tag, before_all + k * hn::Lanes(tag));
  Before<hn::ScalableTag<T>, kProducts, kLevels> before;
  before.begin(before_all, hn::Lanes(tag));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(before.add_to(hn::LoadU(tag, sums + i)), tag, y + i);
  if (i < count)
    store_some(tag, before.add_to(load_some(tag, sums + i, count - i)), y + i, count - i);
  return !hn::AllFalse(tag, before.leaves());
}

template <class T, bool kProducts>
const RowKernels<T>* rows() {
  static constexpr auto kKernels = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return RowKernels<T>{&leaves<T>, {&add_to_row<T, kProducts, kLevels>...}};
  }
  (std::make_index_sequence<kMostLevels + 1>());
  return &kKernels;
}

// Of `vectors` side by side. Columns that are fewer than lanes are read with those of the next row,
// which are written again there; in the last rows there is nothing behind them.
template <class T, bool kProducts, size_t kLevels, bool kStores, int64_t kVectors>
HWY_INLINE LaneBits run_vectors(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                                const Starts<T, StripKernels<T>::kMost>& starts, T* totals) {
  constexpr hn::ScalableTag<T> tag;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  Running<hn::ScalableTag<T>, kProducts> running[kVectors];
  Before<hn::ScalableTag<T>, kProducts, kLevels> before[kVectors];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; v++)
    before[v].begin(starts[0].data() + v * kLanes, StripKernels<T>::kMost);
  const int64_t alone = columns < kLanes ? std::min(count, (kLanes - 1) / columns + 1) : 0;
  for (int64_t j = 0; j < count - alone; j++)
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; v++) {
      const int64_t at = j * apart + v * kLanes;
      const auto sum = before[v].add_to(running[v].next(hn::LoadU(tag, x + at)));
      if (kStores) hn::StoreU(sum, tag, y + at);
    }
  for (int64_t j = count - alone; j < count; j++) {
    const auto sum = before[0].add_to(running[0].next(load_some(tag, x + j * apart, columns)));
    if (kStores) store_some(tag, sum, y + j * apart, columns);
  }
  LaneBits out = 0;
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; v++) {
    hn::StoreU(running[v].total(), tag, totals + v * kLanes);
    out |= lanes_of(tag, hn::Or(running[v].leaves(), before[v].leaves())) << (v * kLanes);
  }
  return columns < kLanes ? out & ((LaneBits{1} << columns) - 1) : out;
}

template <class T, bool kProducts, size_t kLevels, bool kStores>
LaneBits run_strip(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                   const Starts<T, StripKernels<T>::kMost>& starts, T* totals) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  if (columns <= kLanes)
    return run_vectors<T, kProducts, kLevels, kStores, 1>(x, y, apart, count, columns, starts,
                                                          totals);
  return run_vectors<T, kProducts, kLevels, kStores, StripKernels<T>::kVectors>(
      x, y, apart, count, columns, starts, totals);
}

template <class T, bool kProducts>
const StripKernels<T>* strips() {
  static constexpr auto kKernels = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return StripKernels<T>{hn::MaxLanes(hn::ScalableTag<T>()),
                           &run_strip<T, kProducts, 0, false>,
                           {&run_strip<T, kProducts, kLevels, true>...}};
  }
  (std::make_index_sequence<kMostLevels + 1>());
  return &kKernels;
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

using libraries::HWY_NAMESPACE::load_blocks;
using libraries::HWY_NAMESPACE::store_blocks;
using libraries::HWY_NAMESPACE::turn_squares;

// Four elements of four neighbouring pieces in each block become four pieces of an element, and
// back. Of eight bytes, two.
template <class Vector, size_t kSquare>
HWY_INLINE void transpose(Vector (&v)[kSquare]) {
  turn_squares(
      hn::DFromV<Vector>(), [&](int64_t i) HWY_ATTR { return v[i]; },
      [&](int64_t i, Vector turned) HWY_ATTR { v[i] = turned; });
}

// What comes next, in the order in which it lies, which is not that in which it is needed.
template <int64_t kBytes>
HWY_INLINE void announce(const void* next) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kBytes; i += 64) hwy::Prefetch(static_cast<const char*>(next) + i);
}

template <class T>
constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
template <class T>
constexpr int64_t kSquare = 16 / sizeof(T);
template <class T>
constexpr int64_t kSquareBytes = kSquare<T>* kLanes<T> * sizeof(T);

template <class T, bool kProducts>
LaneBits sum_pieces(const T* x, typename PieceKernels<T>::Turned& sums, T* totals) {
  constexpr hn::ScalableTag<T> tag;
  constexpr int64_t kSide = kSquare<T>;
  T* to = sums.elements.data();
  hn::Vec<decltype(tag)> v[kSide];
  Running<hn::ScalableTag<T>, kProducts> running;
  for (int64_t j = 0; j < kPiece; j += kSide) {
    announce<kSquareBytes<T>>(x + (kPiece + j) * kLanes<T>);
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSide; p++) v[p] = load_blocks(tag, x + p * kPiece + j, kSide * kPiece);
    transpose(v);
#pragma GCC unroll 4
    for (const auto now : v) {
      hn::Store(running.next(now), tag, to);
      to += kLanes<T>;
    }
  }
  hn::StoreU(running.total(), tag, totals);
  return lanes_of(tag, running.leaves());
}

template <class T, bool kProducts, size_t kLevels>
LaneBits add_to_pieces(const typename PieceKernels<T>::Turned& sums,
                       const Starts<T, kMostAtOnce>& starts, T* y) {
  constexpr hn::ScalableTag<T> tag;
  constexpr int64_t kSide = kSquare<T>;
  const T* from = sums.elements.data();
  hn::Vec<decltype(tag)> v[kSide];
  Before<hn::ScalableTag<T>, kProducts, kLevels> before;
  before.begin(starts[0].data(), kMostAtOnce);
  for (int64_t j = 0; j < kPiece; j += kSide) {
    announce<kSquareBytes<T>>(y + (kPiece + j) * kLanes<T>);
#pragma GCC unroll 4
    for (auto& now : v) {
      now = before.add_to(hn::Load(tag, from));
      from += kLanes<T>;
    }
    transpose(v);
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSide; p++) store_blocks(tag, v[p], y + p * kPiece + j, kSide * kPiece);
  }
  return lanes_of(tag, before.leaves());
}

template <class T, bool kProducts, size_t kLevels>
LaneBits run_beside(const T* x, T* y, int64_t apart, int64_t count,
                    const Starts<T, kMostAtOnce>& starts, T* totals) {
  constexpr hn::ScalableTag<T> tag;
  constexpr int64_t kRows = kLanes<T>, kSide = kSquare<T>;
  hn::Vec<decltype(tag)> v[kSide];
  Running<hn::ScalableTag<T>, kProducts> running;
  Before<hn::ScalableTag<T>, kProducts, kLevels> before;
  before.begin(starts[0].data(), kMostAtOnce);
  const int64_t whole = count - count % kSide;
  for (int64_t j = 0; j < whole; j += kSide) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSide; p++) v[p] = load_blocks(tag, x + p * apart + j, kSide * apart);
    transpose(v);
#pragma GCC unroll 4
    for (auto& now : v) now = before.add_to(running.next(now));
    transpose(v);
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSide; p++) store_blocks(tag, v[p], y + p * apart + j, kSide * apart);
  }
  // The last few elements, each of all rows.
  HWY_ALIGN T column[kRows];
  for (int64_t j = whole; j < count; j++) {
    for (int64_t r = 0; r < kRows; r++) column[r] = x[r * apart + j];
    hn::Store(before.add_to(running.next(hn::Load(tag, column))), tag, column);
    for (int64_t r = 0; r < kRows; r++) y[r * apart + j] = column[r];
  }
  hn::StoreU(running.total(), tag, totals);
  return lanes_of(tag, hn::Or(running.leaves(), before.leaves()));
}

template <class T, bool kProducts>
const BesideKernel<T>* beside() {
  static constexpr auto kKernel = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return BesideKernel<T>{kLanes<T>, {&run_beside<T, kProducts, kLevels>...}};
  }
  (std::make_index_sequence<BesideKernel<T>::kLevels + 1>());
  static_assert(kKernel.rows <= static_cast<int64_t>(kMostAtOnce));
  return &kKernel;
}

template <class T, bool kProducts>
const PieceKernels<T>* pieces() {
  static constexpr auto kKernels = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return PieceKernels<T>{
        kLanes<T>, &sum_pieces<T, kProducts>, {&add_to_pieces<T, kProducts, kLevels>...}};
  }
  (std::make_index_sequence<kMostLevels + 1>());
  static_assert(kLanes<T> <= static_cast<int64_t>(PieceKernels<T>::kMost));
  return &kKernels;
}

#else

template <class T, bool kProducts>
const PieceKernels<T>* pieces() {
  return nullptr;
}
template <class T, bool kProducts>
const BesideKernel<T>* beside() {
  return nullptr;
}

#endif

const PieceKernels<float>* sums_of_f32() { return pieces<float, false>(); }
const PieceKernels<double>* sums_of_f64() { return pieces<double, false>(); }
const PieceKernels<float>* products_of_f32() { return pieces<float, true>(); }
const PieceKernels<double>* products_of_f64() { return pieces<double, true>(); }
const BesideKernel<float>* sums_beside_f32() { return beside<float, false>(); }
const BesideKernel<double>* sums_beside_f64() { return beside<double, false>(); }
const BesideKernel<int64_t>* sums_beside_i64() { return beside<int64_t, false>(); }
const BesideKernel<float>* products_beside_f32() { return beside<float, true>(); }
const BesideKernel<double>* products_beside_f64() { return beside<double, true>(); }
const RowKernels<float>* sum_rows_f32() { return rows<float, false>(); }
const StripKernels<float>* sum_strips_f32() { return strips<float, false>(); }
const RowKernels<double>* sum_rows_f64() { return rows<double, false>(); }
const StripKernels<double>* sum_strips_f64() { return strips<double, false>(); }
const RowKernels<float>* product_rows_f32() { return rows<float, true>(); }
const StripKernels<float>* product_strips_f32() { return strips<float, true>(); }
const RowKernels<double>* product_rows_f64() { return rows<double, true>(); }
const StripKernels<double>* product_strips_f64() { return strips<double, true>(); }

}  // namespace hologram::libraries::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::loops {

HOLOGRAM_BEST(const PieceKernels<float>*, pieces_of_sums(float), sums_of_f32)
HOLOGRAM_BEST(const PieceKernels<double>*, pieces_of_sums(double), sums_of_f64)
HOLOGRAM_BEST(const PieceKernels<float>*, pieces_of_products(float), products_of_f32)
HOLOGRAM_BEST(const PieceKernels<double>*, pieces_of_products(double), products_of_f64)
HOLOGRAM_BEST(const BesideKernel<float>*, sums_beside(float), sums_beside_f32)
HOLOGRAM_BEST(const BesideKernel<double>*, sums_beside(double), sums_beside_f64)
HOLOGRAM_BEST(const BesideKernel<int64_t>*, sums_beside(int64_t), sums_beside_i64)
HOLOGRAM_BEST(const BesideKernel<float>*, products_beside(float), products_beside_f32)
HOLOGRAM_BEST(const BesideKernel<double>*, products_beside(double), products_beside_f64)
HOLOGRAM_BEST(const RowKernels<float>*, rows_of_sums(float), sum_rows_f32)
HOLOGRAM_BEST(const StripKernels<float>*, strips_of_sums(float), sum_strips_f32)
HOLOGRAM_BEST(const RowKernels<double>*, rows_of_sums(double), sum_rows_f64)
HOLOGRAM_BEST(const StripKernels<double>*, strips_of_sums(double), sum_strips_f64)
HOLOGRAM_BEST(const RowKernels<float>*, rows_of_products(float), product_rows_f32)
HOLOGRAM_BEST(const StripKernels<float>*, strips_of_products(float), product_strips_f32)
HOLOGRAM_BEST(const RowKernels<double>*, rows_of_products(double), product_rows_f64)
HOLOGRAM_BEST(const StripKernels<double>*, strips_of_products(double), product_strips_f64)

}  // namespace hologram::libraries::loops
#endif
