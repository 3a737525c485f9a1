#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/loops/scan_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libraries/best.hpp"
#include "libraries/loops/scan_kernels.hpp"
#include "libraries/squares.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::loops::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;
using libraries::HWY_NAMESPACE::load_blocks;
using libraries::HWY_NAMESPACE::store_blocks;
using libraries::HWY_NAMESPACE::turn_squares;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr Tag kTag;
constexpr int64_t kPiece = hal::ScanDesc::kPiece;
constexpr int64_t kPieces = hn::MaxLanes(Tag());
static_assert(kPieces <= kMostAtOnce);

// Four elements of four neighbouring pieces in each block become four pieces of an element, and
// back. Of eight bytes, two.
template <class Vector, size_t kSquare>
HWY_INLINE void transpose(Vector (&v)[kSquare]) {
  turn_squares(
      hn::DFromV<Vector>(), [&](int64_t i) HWY_ATTR { return v[i]; },
      [&](int64_t i, Vector turned) HWY_ATTR { v[i] = turned; });
}

template <bool kProducts, class Vector>
HWY_INLINE Vector step(Vector a, Vector b) {
  if constexpr (kProducts) return hn::Mul(a, b);
  else return hn::Add(a, b);
}

// What comes next, in the order in which it lies, which is not that in which it is needed.
HWY_INLINE void announce(const float* next) {
  constexpr int64_t kLine = 64 / sizeof(float);
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4 * kPieces; i += kLine) hwy::Prefetch(next + i);
}

template <bool kProducts>
void turn(const float* x, PieceKernels::Turned& turned, float* totals) {
  float* to = turned.elements.data();
  V total = hn::Set(kTag, kProducts ? 1.0f : 0.0f), v[4];
  for (int64_t j = 0; j < kPiece; j += 4) {
    announce(x + (kPiece + j) * kPieces);
#pragma GCC unroll 4
    for (int64_t p = 0; p < 4; p++) v[p] = load_blocks(kTag, x + p * kPiece + j, 4 * kPiece);
    transpose(v);
#pragma GCC unroll 4
    for (const V now : v) {
      total = step<kProducts>(total, now);
      hn::Store(now, kTag, to);
      to += kPieces;
    }
  }
  hn::StoreU(total, kTag, totals);
}

template <bool kProducts>
void run(const PieceKernels::Turned& turned, const float* starts, float* y) {
  const float* from = turned.elements.data();
  V sum = hn::LoadU(kTag, starts), v[4];
  for (int64_t j = 0; j < kPiece; j += 4) {
    announce(y + (kPiece + j) * kPieces);
#pragma GCC unroll 4
    for (V& now : v) {
      now = sum = step<kProducts>(sum, hn::Load(kTag, from));
      from += kPieces;
    }
    transpose(v);
#pragma GCC unroll 4
    for (int64_t p = 0; p < 4; p++) store_blocks(kTag, v[p], y + p * kPiece + j, 4 * kPiece);
  }
}

template <class T, bool kProducts>
void run_beside(const T* x, T* y, int64_t apart, int64_t count, const T* starts, T* totals) {
  constexpr hn::ScalableTag<T> tag;
  constexpr int64_t kRows = hn::MaxLanes(tag), kSquare = 16 / sizeof(T);
  using Vector = hn::Vec<decltype(tag)>;
  Vector sum = hn::LoadU(tag, starts), total = hn::Set(tag, kProducts ? 1 : 0), v[kSquare];
  const int64_t whole = count - count % kSquare;
  for (int64_t j = 0; j < whole; j += kSquare) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSquare; p++)
      v[p] = load_blocks(tag, x + p * apart + j, kSquare * apart);
    transpose(v);
#pragma GCC unroll 4
    for (Vector& now : v) {
      total = step<kProducts>(total, now);
      now = sum = step<kProducts>(sum, now);
    }
    transpose(v);
#pragma GCC unroll 4
    for (int64_t p = 0; p < kSquare; p++)
      store_blocks(tag, v[p], y + p * apart + j, kSquare * apart);
  }
  // The last few elements, each of all rows.
  HWY_ALIGN T column[kRows];
  for (int64_t j = whole; j < count; j++) {
    for (int64_t r = 0; r < kRows; r++) column[r] = x[r * apart + j];
    const Vector now = hn::Load(tag, column);
    total = step<kProducts>(total, now);
    sum = step<kProducts>(sum, now);
    hn::Store(sum, tag, column);
    for (int64_t r = 0; r < kRows; r++) y[r * apart + j] = column[r];
  }
  hn::StoreU(total, tag, totals);
}

template <class T, bool kProducts>
const BesideKernel<T>* beside() {
  static constexpr BesideKernel<T> kKernel = {hn::MaxLanes(hn::ScalableTag<T>()),
                                              &run_beside<T, kProducts>};
  static_assert(kKernel.rows <= kMostAtOnce);
  return &kKernel;
}

template <bool kProducts>
const PieceKernels* kernels() {
  static constexpr PieceKernels kKernels = {kPieces, &turn<kProducts>, &run<kProducts>};
  return &kKernels;
}

#else

template <bool kProducts>
const PieceKernels* kernels() {
  return nullptr;
}
template <class T, bool kProducts>
const BesideKernel<T>* beside() {
  return nullptr;
}

#endif

const PieceKernels* sums() { return kernels<false>(); }
const PieceKernels* products() { return kernels<true>(); }
const BesideKernel<float>* sums_of_f32() { return beside<float, false>(); }
const BesideKernel<double>* sums_of_f64() { return beside<double, false>(); }
const BesideKernel<int64_t>* sums_of_i64() { return beside<int64_t, false>(); }
const BesideKernel<float>* products_of_f32() { return beside<float, true>(); }
const BesideKernel<double>* products_of_f64() { return beside<double, true>(); }

}  // namespace hologram::libraries::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::loops {

HOLOGRAM_BEST(const PieceKernels*, sums_of_pieces(), sums)
HOLOGRAM_BEST(const PieceKernels*, products_of_pieces(), products)
HOLOGRAM_BEST(const BesideKernel<float>*, sums_beside(float), sums_of_f32)
HOLOGRAM_BEST(const BesideKernel<double>*, sums_beside(double), sums_of_f64)
HOLOGRAM_BEST(const BesideKernel<int64_t>*, sums_beside(int64_t), sums_of_i64)
HOLOGRAM_BEST(const BesideKernel<float>*, products_beside(float), products_of_f32)
HOLOGRAM_BEST(const BesideKernel<double>*, products_beside(double), products_of_f64)

}  // namespace hologram::libraries::loops
#endif
