#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/loops/scan_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libraries/loops/scan_kernels.hpp"
#include "libraries/packed/best.hpp"
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
// back.
HWY_INLINE void transpose(V (&v)[4]) {
  turn_squares(
      kTag, [&](int64_t i) HWY_ATTR { return v[i]; },
      [&](int64_t i, V turned) HWY_ATTR { v[i] = turned; });
}

template <bool kProducts>
HWY_INLINE V step(V a, V b) {
  return kProducts ? hn::Mul(a, b) : hn::Add(a, b);
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

#endif

const PieceKernels* sums() { return kernels<false>(); }
const PieceKernels* products() { return kernels<true>(); }

}  // namespace hologram::libraries::loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::loops {

HOLOGRAM_BEST(const PieceKernels*, sums_of_pieces(), sums)
HOLOGRAM_BEST(const PieceKernels*, products_of_pieces(), products)

}  // namespace hologram::libraries::loops
#endif
