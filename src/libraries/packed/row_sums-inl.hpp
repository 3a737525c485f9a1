// Sums of lanes as the tree of a group makes them, for the target being compiled. Included once a
// target by row_kernels.cpp, after hwy/foreach_target.h.
#if defined(HOLOGRAM_PACKED_ROW_SUMS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_PACKED_ROW_SUMS_INL_HPP_
#undef HOLOGRAM_PACKED_ROW_SUMS_INL_HPP_
#else
#define HOLOGRAM_PACKED_ROW_SUMS_INL_HPP_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <utility>

#include "libraries/packed/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

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

// What is read may be announced, so many elements ahead, which helps processors with AVX-512. It
// stays in the order in which it lies then, which is what they foresee.
template <bool kProducts, int64_t kAhead = 0>
HWY_INLINE V term(const float* a, const float* x) {
  if constexpr (kAhead > 0) {
    hwy::Prefetch(a + kAhead);
    if constexpr (kProducts) HWY_FENCE;
  }
  const V v = hn::LoadU(kTag, a);
  return kProducts ? hn::Mul(v, hn::LoadU(kTag, x)) : v;
}

template <bool kProducts, int64_t kAhead, class Mask>
HWY_INLINE V part(Mask some, const float* a, const float* x) {
  if constexpr (kAhead > 0) hwy::Prefetch(a + kAhead);
  const V v = hn::MaskedLoad(some, kTag, a);
  return kProducts ? hn::Mul(v, hn::MaskedLoad(some, kTag, x)) : v;
}

// Of constants from the beginning, so that what they number can stay in registers.
template <class Body, int... kNumbers>
HWY_INLINE void each(std::integer_sequence<int, kNumbers...> /*numbers*/, const Body& body) {
  (body(std::integral_constant<int, kNumbers>()), ...);
}
template <int kCount, class Body>
HWY_INLINE void each(const Body& body) {
  each(std::make_integer_sequence<int, kCount>(), body);
}

// The tree of a group: lanes half of it apart first.
template <int kVectors, int kAll>
HWY_INLINE float tree(V (&sums)[kAll]) {
  if constexpr (kVectors == 1) {
    return root(sums[0]);
  } else {
    constexpr int kHalf = kVectors / 2;
    each<kHalf>([&](auto v) HWY_ATTR { sums[v] = hn::Add(sums[v], sums[v + kHalf]); });
    return tree<kHalf>(sums);
  }
}

// Adds what is left behind the last whole turn of the lanes.
template <bool kProducts, int64_t kAhead = 0>
HWY_INLINE void add_rest(const float* a, const float* x, int64_t left, float* totals) {
  const int64_t whole = left / kWidth * kWidth;
  const auto add = [&](int64_t i, V more) HWY_ATTR {
    hn::Store(hn::Add(more, hn::Load(kTag, totals + i)), kTag, totals + i);
  };
  for (int64_t i = 0; i < whole; i += kWidth) add(i, term<kProducts, kAhead>(a + i, x + i));
  if (whole == left) return;
  const auto some = hn::FirstN(kTag, static_cast<size_t>(left - whole));
  add(whole, part<kProducts, kAhead>(some, a + whole, x + whole));
}

// The totals begin with the first run, and other runs are added to them.
template <int64_t kLanes>
HWY_INLINE void to_totals(V (&sums)[kLanes / kWidth], bool first, float* totals) {
  constexpr int kVectors = kLanes / kWidth;
  if (!first)
    each<kVectors>(
        [&](auto v) HWY_ATTR { sums[v] = hn::Add(hn::Load(kTag, totals + v * kWidth), sums[v]); });
  each<kVectors>([&](auto v) HWY_ATTR { hn::Store(sums[v], kTag, totals + v * kWidth); });
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

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
