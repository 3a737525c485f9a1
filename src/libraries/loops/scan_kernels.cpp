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

#include "libraries/loops/scan_kernels.hpp"
#include "libraries/loops/scan_walks.hpp"
#include "libraries/simd_dispatch.hpp"
#include "libraries/transpose_blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::loops::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of lambdas whose arguments stay in registers.
#undef HOLOGRAM_INSIDE
#define HOLOGRAM_INSIDE HWY_ATTR __attribute__((always_inline))

[[maybe_unused]] constexpr int64_t kPiece = hal::ScanDesc::kPiece;

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

// Vectors side by side. Columns that are fewer than lanes are read with those of the next row,
// which are written again there; in the last rows there is nothing behind them.
template <class T, Kind kKind, size_t kLevels, bool kStores, int64_t kVectors>
HWY_INLINE LaneBits run_vectors(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                                const Starts<T, StripKernels<T>::kMost>& starts,
                                Totals<T, StripKernels<T>::kMost>& totals) {
  using D = hn::ScalableTag<T>;
  constexpr D tag;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  Running<D, kKind> running[kVectors];
  Before<D, kKind, kLevels> before[kVectors];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; v++) before[v].begin(starts, static_cast<size_t>(v * kLanes));
  const auto go = [&]<int64_t kRows>(std::integral_constant<int64_t, kRows>, int64_t j,
                                     const auto& load, const auto& store) HWY_ATTR {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; v++) {
      const int64_t at = j * apart + v * kLanes;
      const auto bring = [&](hn::Vec<D>(&to)[kFour]) HOLOGRAM_INSIDE {
#pragma GCC unroll 4
        for (int64_t i = 0; i < kFour; i++)
          to[i] = i < kRows ? load(x + at + i * apart) : nothing<D, kKind>(tag);
      };
      hn::Vec<D> now[kFour];
      bring(now);
      running[v].take(now, bring);
      before[v].add_to(now, running[v]);
#pragma GCC unroll 4
      for (int64_t i = 0; kStores && i < kRows; i++) store(now[i], y + at + i * apart);
    }
  };
  const auto load = [&](const T* from) HWY_ATTR { return hn::LoadU(tag, from); };
  const auto store = [&](hn::Vec<D> v, T* to) HWY_ATTR { hn::StoreU(v, tag, to); };
  const auto load_few = [&](const T* from) HWY_ATTR { return load_some(tag, from, columns); };
  const auto store_few = [&](hn::Vec<D> v, T* to) HWY_ATTR { store_some(tag, v, to, columns); };
  using One = std::integral_constant<int64_t, 1>;
  int64_t alone = columns < kLanes ? std::min(count, (kLanes - 1) / columns + 1) : 0;
  alone += (count - alone) % kFour;
  for (int64_t j = 0; j < count - alone; j += kFour)
    go(std::integral_constant<int64_t, kFour>(), j, load, store);
  const int64_t j = count - alone;
  if (columns < kLanes)
    for (int64_t k = j; k < count; k++) go(One(), k, load_few, store_few);
  else if (alone == 1) go(One(), j, load, store);
  else if (alone == 2) go(std::integral_constant<int64_t, 2>(), j, load, store);
  else if (alone == 3) go(std::integral_constant<int64_t, 3>(), j, load, store);
  LaneBits out = 0;
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; v++) {
    running[v].store(totals, static_cast<size_t>(v * kLanes));
    out |= (running[v].leaves() | before[v].leaves()) << (v * kLanes);
  }
  return columns < kLanes ? out & ((LaneBits{1} << columns) - 1) : out;
}

template <class T, Kind kKind, size_t kLevels, bool kStores>
LaneBits run_strip(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                   const Starts<T, StripKernels<T>::kMost>& starts,
                   Totals<T, StripKernels<T>::kMost>& totals) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  if (columns <= kLanes)
    return run_vectors<T, kKind, kLevels, kStores, 1>(x, y, apart, count, columns, starts, totals);
  return run_vectors<T, kKind, kLevels, kStores, StripKernels<T>::kVectors>(
      x, y, apart, count, columns, starts, totals);
}

// What products of a kind are where nothing is left of them.
constexpr Kind vanishing(Kind kind) {
  return kind == Kind::Products ? Kind::VanishingProducts : kind;
}

template <class T, Kind kKind>
const StripKernels<T>* strips() {
  static constexpr auto kKernels = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return StripKernels<T>{hn::MaxLanes(hn::ScalableTag<T>()),
                           &run_strip<T, kKind, 0, false>,
                           {&run_strip<T, kKind, kLevels, true>...},
                           &run_strip<T, vanishing(kKind), 1, true>};
  }
  (std::make_index_sequence<kMostLevels + 1>());
  return &kKernels;
}

#if HWY_TARGET != HWY_SCALAR

using libraries::HWY_NAMESPACE::load_blocks;
using libraries::HWY_NAMESPACE::store_blocks;
using libraries::HWY_NAMESPACE::transpose_blocks;

// Four elements each of rows that lie apart, a row a lane: squares of a block of each vector have
// their rows and columns exchanged.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void load_four(D tag, const T* from, int64_t apart, hn::Vec<D> (&v)[kFour]) {
  constexpr int64_t kSide = 16 / sizeof(T);
#pragma GCC unroll 2
  for (int64_t h = 0; h < kFour; h += kSide)
    transpose_blocks(
        tag,
        [&](int64_t i) HWY_ATTR { return load_blocks(tag, from + i * apart + h, kSide * apart); },
        [&](int64_t i, hn::Vec<D> transposed) HWY_ATTR { v[h + i] = transposed; });
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_four(D tag, const hn::Vec<D> (&v)[kFour], T* to, int64_t apart) {
  constexpr int64_t kSide = 16 / sizeof(T);
#pragma GCC unroll 2
  for (int64_t h = 0; h < kFour; h += kSide)
    transpose_blocks(
        tag, [&](int64_t i) HWY_ATTR { return v[h + i]; },
        [&](int64_t i, hn::Vec<D> transposed)
            HWY_ATTR { store_blocks(tag, transposed, to + i * apart + h, kSide * apart); });
}

// What comes next, in the order in which it lies, which is not that in which it is needed.
template <int64_t kBytes>
HWY_INLINE void prefetch(const void* next) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kBytes; i += 64) hwy::Prefetch(static_cast<const char*>(next) + i);
}

template <class T>
constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
template <class T>
constexpr int64_t kFourBytes = kFour* kLanes<T> * sizeof(T);

template <class T, Kind kKind>
LaneBits sum_pieces(const T* x, int64_t count, typename PieceKernels<T>::Turned& sums,
                    Totals<T, kMostAtOnce>& totals) {
  using D = hn::ScalableTag<T>;
  constexpr D tag;
  T* to = sums.elements.data();
  hn::Vec<D> v[kFour];
  Running<D, kKind> running;
  for (int64_t j = 0; j < count; j += kFour) {
    prefetch<kFourBytes<T>>(x + (kPiece + j) * kLanes<T>);
    const auto bring = [&](hn::Vec<D>(&to)[kFour])
                           HOLOGRAM_INSIDE { load_four(tag, x + j, kPiece, to); };
    bring(v);
    running.take(v, bring);
    if constexpr (kKind == Kind::Products)
      hn::Store(running.exponents(), hn::RebindToSigned<D>(),
                sums.exponents.data() + j / kFour * kLanes<T>);
#pragma GCC unroll 4
    for (const auto now : v) {
      hn::Store(now, tag, to);
      to += kLanes<T>;
    }
  }
  running.store(totals, 0);
  return running.leaves();
}

template <class T, Kind kKind, size_t kLevels>
LaneBits add_to_pieces(const typename PieceKernels<T>::Turned& sums, int64_t count,
                       const Starts<T, kMostAtOnce>& starts, T* y) {
  using D = hn::ScalableTag<T>;
  constexpr D tag;
  const T* from = sums.elements.data();
  hn::Vec<D> v[kFour];
  Before<D, kKind, kLevels> before;
  before.begin(starts, 0);
  for (int64_t j = 0; j < count; j += kFour) {
    prefetch<kFourBytes<T>>(y + (kPiece + j) * kLanes<T>);
#pragma GCC unroll 4
    for (auto& now : v) {
      now = hn::Load(tag, from);
      from += kLanes<T>;
    }
    if constexpr (kKind == Kind::Products)
      before.add_to(
          v, hn::Load(hn::RebindToSigned<D>(), sums.exponents.data() + j / kFour * kLanes<T>));
    else before.add_to(v, Running<D, kKind>());
    store_four(tag, v, y + j, kPiece);
  }
  return before.leaves();
}

template <class T, Kind kKind, size_t kLevels>
LaneBits run_beside(const T* x, T* y, int64_t apart, int64_t count,
                    const Starts<T, kMostAtOnce>& starts, Totals<T, kMostAtOnce>& totals) {
  using D = hn::ScalableTag<T>;
  constexpr D tag;
  constexpr int64_t kRows = kLanes<T>;
  hn::Vec<D> v[kFour];
  Running<D, kKind> running;
  Before<D, kKind, kLevels> before;
  before.begin(starts, 0);
  const int64_t whole = count - count % kFour;
  for (int64_t j = 0; j < whole; j += kFour) {
    const auto bring = [&](hn::Vec<D>(&to)[kFour])
                           HOLOGRAM_INSIDE { load_four(tag, x + j, apart, to); };
    bring(v);
    running.take(v, bring);
    before.add_to(v, running);
    store_four(tag, v, y + j, apart);
  }
  // The last few elements, each of all rows.
  if (const int64_t left = count - whole; left > 0) {
    HWY_ALIGN T columns[kFour][kRows];
    for (int64_t i = 0; i < left; i++)
      for (int64_t r = 0; r < kRows; r++) columns[i][r] = x[r * apart + whole + i];
    const auto bring = [&](hn::Vec<D>(&to)[kFour]) HOLOGRAM_INSIDE {
      for (int64_t i = 0; i < kFour; i++)
        to[i] = i < left ? hn::Load(tag, columns[i]) : nothing<D, kKind>(tag);
    };
    bring(v);
    running.take(v, bring);
    before.add_to(v, running);
    for (int64_t i = 0; i < left; i++) {
      hn::Store(v[i], tag, columns[i]);
      for (int64_t r = 0; r < kRows; r++) y[r * apart + whole + i] = columns[i][r];
    }
  }
  running.store(totals, 0);
  return running.leaves() | before.leaves();
}

template <class T, Kind kKind>
const BesideKernel<T>* beside() {
  static constexpr auto kKernel = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return BesideKernel<T>{
        kLanes<T>, {&run_beside<T, kKind, kLevels>...}, &run_beside<T, vanishing(kKind), 1>};
  }
  (std::make_index_sequence<BesideKernel<T>::kLevels + 1>());
  static_assert(kKernel.rows <= static_cast<int64_t>(kMostAtOnce));
  return &kKernel;
}

template <class T, Kind kKind>
const PieceKernels<T>* pieces() {
  static constexpr auto kKernels = []<size_t... kLevels>(std::index_sequence<kLevels...>) {
    return PieceKernels<T>{
        kLanes<T>, &sum_pieces<T, kKind>, {&add_to_pieces<T, kKind, kLevels>...}};
  }
  (std::make_index_sequence<kMostLevels + 1>());
  static_assert(kLanes<T> <= static_cast<int64_t>(PieceKernels<T>::kMost));
  return &kKernels;
}

#else

template <class T, Kind kKind>
const PieceKernels<T>* pieces() {
  return nullptr;
}
template <class T, Kind kKind>
const BesideKernel<T>* beside() {
  return nullptr;
}

#endif

const PieceKernels<float>* sums_of_f32() { return pieces<float, Kind::Sums>(); }
const PieceKernels<double>* sums_of_f64() { return pieces<double, Kind::Sums>(); }
const PieceKernels<float>* products_of_f32() { return pieces<float, Kind::Products>(); }
const PieceKernels<float>* plain_products_of_f32() { return pieces<float, Kind::PlainProducts>(); }
const PieceKernels<double>* products_of_f64() { return pieces<double, Kind::Products>(); }
const PieceKernels<double>* plain_products_of_f64() {
  return pieces<double, Kind::PlainProducts>();
}
const BesideKernel<float>* sums_beside_f32() { return beside<float, Kind::Sums>(); }
const BesideKernel<double>* sums_beside_f64() { return beside<double, Kind::Sums>(); }
const BesideKernel<int64_t>* sums_beside_i64() { return beside<int64_t, Kind::Sums>(); }
const BesideKernel<float>* products_beside_f32() { return beside<float, Kind::Products>(); }
const BesideKernel<float>* plain_products_beside_f32() {
  return beside<float, Kind::PlainProducts>();
}
const BesideKernel<double>* products_beside_f64() { return beside<double, Kind::Products>(); }
const BesideKernel<double>* plain_products_beside_f64() {
  return beside<double, Kind::PlainProducts>();
}
const StripKernels<float>* sum_strips_f32() { return strips<float, Kind::Sums>(); }
const StripKernels<double>* sum_strips_f64() { return strips<double, Kind::Sums>(); }
const StripKernels<float>* product_strips_f32() { return strips<float, Kind::Products>(); }
const StripKernels<float>* plain_product_strips_f32() {
  return strips<float, Kind::PlainProducts>();
}
const StripKernels<double>* product_strips_f64() { return strips<double, Kind::Products>(); }
const StripKernels<double>* plain_product_strips_f64() {
  return strips<double, Kind::PlainProducts>();
}

}  // namespace hologram::libraries::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::loops {

HOLOGRAM_SIMD_DISPATCH(const PieceKernels<float>*, pieces_of_sums(float), sums_of_f32)
HOLOGRAM_SIMD_DISPATCH(const PieceKernels<double>*, pieces_of_sums(double), sums_of_f64)
HOLOGRAM_SIMD_DISPATCH(const PieceKernels<float>*, pieces_of_products(float), products_of_f32)
HOLOGRAM_SIMD_DISPATCH(const PieceKernels<float>*, plain_pieces_of_products(float),
                       plain_products_of_f32)
HOLOGRAM_SIMD_DISPATCH(const PieceKernels<double>*, pieces_of_products(double), products_of_f64)
HOLOGRAM_SIMD_DISPATCH(const PieceKernels<double>*, plain_pieces_of_products(double),
                       plain_products_of_f64)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<float>*, sums_beside(float), sums_beside_f32)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<double>*, sums_beside(double), sums_beside_f64)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<int64_t>*, sums_beside(int64_t), sums_beside_i64)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<float>*, products_beside(float), products_beside_f32)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<float>*, plain_products_beside(float),
                       plain_products_beside_f32)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<double>*, products_beside(double), products_beside_f64)
HOLOGRAM_SIMD_DISPATCH(const BesideKernel<double>*, plain_products_beside(double),
                       plain_products_beside_f64)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<float>*, strips_of_sums(float), sum_strips_f32)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<double>*, strips_of_sums(double), sum_strips_f64)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<float>*, strips_of_products(float), product_strips_f32)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<float>*, plain_strips_of_products(float),
                       plain_product_strips_f32)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<double>*, strips_of_products(double), product_strips_f64)
HOLOGRAM_SIMD_DISPATCH(const StripKernels<double>*, plain_strips_of_products(double),
                       plain_product_strips_f64)

}  // namespace hologram::libraries::loops
#endif
