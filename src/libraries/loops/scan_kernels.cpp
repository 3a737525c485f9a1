#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/loops/scan_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libraries/loops/scan_kernels.hpp"
#include "libraries/packed/best.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::loops::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr Tag kTag;
constexpr hn::Full128<float> kFour;
constexpr int64_t kPiece = hal::ScanDesc::kPiece;
constexpr int64_t kPieces = hn::MaxLanes(Tag());
static_assert(kPieces <= kMostAtOnce);

// Four elements of each fourth piece, the first at `x`.
HWY_INLINE V load(const float* x) {
  const auto two = [](const float* p) HWY_ATTR {
    return hn::Combine(hn::Twice<decltype(kFour)>(), hn::LoadU(kFour, p + 4 * kPiece),
                       hn::LoadU(kFour, p));
  };
#if HWY_TARGET == HWY_AVX3
  return hn::Combine(kTag, two(x + 8 * kPiece), two(x));
#else
  return two(x);
#endif
}
HWY_INLINE void store(V v, float* y) {
  const auto two = [](auto half, float* p) HWY_ATTR {
    hn::StoreU(hn::LowerHalf(kFour, half), kFour, p);
    hn::StoreU(hn::UpperHalf(kFour, half), kFour, p + 4 * kPiece);
  };
#if HWY_TARGET == HWY_AVX3
  constexpr hn::Half<Tag> kHalf;
  two(hn::LowerHalf(kHalf, v), y);
  two(hn::UpperHalf(kHalf, v), y + 8 * kPiece);
#else
  two(v, y);
#endif
}

// Four elements of four neighbouring pieces in each block become four pieces of an element, and
// back.
HWY_INLINE void transpose(V (&v)[4]) {
  constexpr hn::RepartitionToWide<Tag> pairs;
  const auto low = [&](V a, V b) HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(a, b)); };
  const auto high = [&](V a, V b)
                        HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(kTag, a, b)); };
  const auto a = low(v[0], v[1]), b = low(v[2], v[3]);
  const auto c = high(v[0], v[1]), d = high(v[2], v[3]);
  v[0] = hn::BitCast(kTag, hn::InterleaveLower(a, b));
  v[1] = hn::BitCast(kTag, hn::InterleaveUpper(pairs, a, b));
  v[2] = hn::BitCast(kTag, hn::InterleaveLower(c, d));
  v[3] = hn::BitCast(kTag, hn::InterleaveUpper(pairs, c, d));
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
    for (int64_t p = 0; p < 4; p++) v[p] = load(x + p * kPiece + j);
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
    for (int64_t p = 0; p < 4; p++) store(v[p], y + p * kPiece + j);
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
