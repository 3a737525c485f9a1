#include "libraries/half_convert.hpp"

#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/half_convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/half.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
constexpr Tag kTag;
constexpr hn::RebindToUnsigned<Tag> kBits;
constexpr hn::Rebind<uint16_t, Tag> kHalf;
constexpr int64_t kLanes = hn::MaxLanes(Tag());
using V = hn::Vec<Tag>;
using Bits = hn::Vec<decltype(kBits)>;

// Processors that have an instruction for f16 round as core/half.hpp does, and keep what a number
// that is none carries; the others go one by one.
constexpr bool kHasF16 = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

HWY_INLINE V wide_f16(const uint16_t* from) {
  const hn::Rebind<hwy::float16_t, Tag> half;
  return hn::PromoteTo(kTag, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}
HWY_INLINE void store_f16(V v, uint16_t* to) {
  const hn::Rebind<hwy::float16_t, Tag> half;
  hn::StoreU(hn::DemoteTo(half, v), half, reinterpret_cast<hwy::float16_t*>(to));
}

HWY_INLINE auto is_nan(Bits bits) {
  return hn::Gt(hn::And(bits, hn::Set(kBits, 0x7fffffffu)), hn::Set(kBits, 0x7f800000u));
}
HWY_INLINE V wide_bf16(const uint16_t* from) {
  const Bits bits = hn::ShiftLeft<16>(hn::PromoteTo(kBits, hn::LoadU(kHalf, from)));
  const Bits quiet = hn::IfThenElseZero(is_nan(bits), hn::Set(kBits, 1u << 22));
  return hn::BitCast(kTag, hn::Or(bits, quiet));
}
HWY_INLINE void store_bf16(V v, uint16_t* to) {
  const Bits bits = hn::BitCast(kBits, v), high = hn::ShiftRight<16>(bits);
  const Bits even = hn::Add(hn::Set(kBits, 0x7fffu), hn::And(high, hn::Set(kBits, 1u)));
  const Bits rounded = hn::ShiftRight<16>(hn::Add(bits, even));
  const Bits quiet = hn::Or(high, hn::Set(kBits, 0x40u));
  // Each fits 16 bits.
  const hn::RebindToSigned<decltype(kBits)> whole;
  hn::StoreU(hn::DemoteTo(kHalf, hn::BitCast(whole, hn::IfThenElse(is_nan(bits), quiet, rounded))),
             kHalf, to);
}

void f16_to_f32(const uint16_t* from, int64_t count, float* to) {
  int64_t i = 0;
  if constexpr (kHasF16)
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(wide_f16(from + i), kTag, to + i);
  for (; i < count; i++) to[i] = core::f16_to_f32(from[i]);
}
void f32_to_f16(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
  if constexpr (kHasF16)
    for (; i + kLanes <= count; i += kLanes) store_f16(hn::LoadU(kTag, from + i), to + i);
  for (; i < count; i++) to[i] = core::f32_to_f16(from[i]);
}
void bf16_to_f32(const uint16_t* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(wide_bf16(from + i), kTag, to + i);
  for (; i < count; i++) to[i] = core::bf16_to_f32(from[i]);
}
void f32_to_bf16(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_bf16(hn::LoadU(kTag, from + i), to + i);
  for (; i < count; i++) to[i] = core::f32_to_bf16(from[i]);
}

const HalfConvert* all() {
  static constexpr HalfConvert kAll = {&f16_to_f32, &f32_to_f16, &bf16_to_f32, &f32_to_bf16};
  return &kAll;
}

}  // namespace hologram::libraries::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries {

HOLOGRAM_SIMD_DISPATCH(const HalfConvert*, best_half_convert(), all)

const HalfConvert& half_convert() { return *best_half_convert(); }

}  // namespace hologram::libraries
#endif
