// Highway vectors as the value type of program/expansions/value.hpp, and a fused multiply-add that
// is fused on every target. Included once a target, after <hwy/foreach_target.h>.
#if defined(HOLOGRAM_INTERP_VECTOR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_INTERP_VECTOR_INL_HPP
#undef HOLOGRAM_INTERP_VECTOR_INL_HPP
#else
#define HOLOGRAM_INTERP_VECTOR_INL_HPP
#endif

#include <hwy/highway.h>

#include <cmath>
#include <tuple>

#include "program/expansions/value.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---- A true fused multiply-add ------------------------------------------------------------------

// a*b + c rounded once to double, then to float with the same result as one rounding: the product
// of two floats is exact in double, and the sum is rounded to odd (an inexact result takes the
// neighbour whose last bit is 1), which no later rounding to fewer than 52 bits can mistake
// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
template <class DW, class V = hn::Vec<DW>>
HWY_INLINE V fma_round_to_odd(DW d, V a, V b, V c) {
  const hn::RebindToUnsigned<DW> du;
  const V p = hn::Mul(a, b);
  const V s = hn::Add(p, c);
  const V back = hn::Sub(s, p);
  const V error = hn::Add(hn::Sub(p, hn::Sub(s, back)), hn::Sub(c, back));
  const auto bits = hn::BitCast(du, s);
  const auto one = hn::Set(du, 1);
  // Toward the error: away from zero if it has the sign of the sum. Not for an error of NaN, which
  // an infinite operand gives.
  const V zero = hn::Zero(d);
  const auto inexact = hn::Or(hn::Lt(error, zero), hn::Gt(error, zero));
  const auto even = hn::Eq(hn::And(bits, one), hn::Zero(du));
  const auto outward =
      hn::Eq(hn::ShiftRight<63>(hn::Xor(bits, hn::BitCast(du, error))), hn::Zero(du));
  const auto step = hn::IfThenElse(outward, one, hn::Set(du, ~uint64_t{0}));
  const auto odd = hn::IfThenElse(even, hn::Add(bits, step), bits);
  return hn::IfThenElse(inexact, hn::BitCast(d, odd), s);
}

#if !HWY_NATIVE_FMA && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// Rounding to double and then to float differs from rounding once only if the double lies half-way
// between two floats or is a denormal float, which is rare.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fma_through_double(D d, V a, V b, V c) {
  const hn::Half<D> dh;
  const hn::Repartition<double, D> dw;
  const hn::RebindToUnsigned<decltype(dw)> du;
  const auto a0 = hn::PromoteTo(dw, hn::LowerHalf(dh, a)),
             a1 = hn::PromoteTo(dw, hn::UpperHalf(dh, a));
  const auto b0 = hn::PromoteTo(dw, hn::LowerHalf(dh, b)),
             b1 = hn::PromoteTo(dw, hn::UpperHalf(dh, b));
  const auto c0 = hn::PromoteTo(dw, hn::LowerHalf(dh, c)),
             c1 = hn::PromoteTo(dw, hn::UpperHalf(dh, c));
  auto s0 = hn::Add(hn::Mul(a0, b0), c0), s1 = hn::Add(hn::Mul(a1, b1), c1);
  const auto dropped = hn::Set(du, (uint64_t{1} << 29) - 1), half = hn::Set(du, uint64_t{1} << 28);
  const auto half_way = hn::Or(hn::Eq(hn::And(hn::BitCast(du, s0), dropped), half),
                               hn::Eq(hn::And(hn::BitCast(du, s1), dropped), half));
  const auto smallest = hn::Set(dw, 0x1p-126);
  const auto denormal = hn::Or(hn::Lt(hn::Abs(s0), smallest), hn::Lt(hn::Abs(s1), smallest));
  if (HWY_UNLIKELY(!hn::AllFalse(dw, hn::Or(hn::RebindMask(dw, half_way), denormal)))) {
    s0 = fma_round_to_odd(dw, a0, b0, c0);
    s1 = fma_round_to_odd(dw, a1, b1, c1);
  }
  return hn::Combine(d, hn::DemoteTo(dh, s1), hn::DemoteTo(dh, s0));
}
#endif

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Fma(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  using T = hn::TFromD<D>;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (sizeof(T) == 4) return fma_through_double(d, a, b, c);
#endif
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN T x[kLanes], y[kLanes], z[kLanes];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (size_t i = 0; i < kLanes; ++i) x[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, x);
#endif
}

// Half to even. Highway's emulated targets round 0.5 minus half an ulp to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Round(D d, V a) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> x[kLanes];
  hn::Store(a, d, x);
  for (size_t i = 0; i < kLanes; ++i) x[i] = std::nearbyint(x[i]);
  return hn::Load(d, x);
#else
  (void)d;
  return hn::Round(a);
#endif
}

// ---- The value type -----------------------------------------------------------------------------

// D is a tag of float or double lanes; a Bool is kept as the mask of that tag whatever was
// compared.
template <class D>
struct VectorBool {
  hn::Mask<D> mask;
};

template <class D, class DI>  // DI: D itself, or its signed or unsigned twin
struct VectorOf {
  hn::Vec<DI> v;
};
template <class D>
using VectorInt = VectorOf<D, hn::RebindToSigned<D>>;
template <class D>
using VectorUInt = VectorOf<D, hn::RebindToUnsigned<D>>;

template <class D>
struct VectorValue {
  using Int = VectorInt<D>;
  using UInt = VectorUInt<D>;
  using Bool = VectorBool<D>;
  using Lane = hn::TFromD<D>;
  static constexpr int width = 8 * sizeof(Lane);

  hn::Vec<D> v;

  HWY_INLINE VectorValue lit(double c) const { return {hn::Set(D(), static_cast<Lane>(c))}; }
  HWY_INLINE Int int_lit(int64_t c) const {
    const hn::RebindToSigned<D> d;
    return {hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(c))};
  }
  HWY_INLINE UInt uint_lit(uint64_t c) const {
    const hn::RebindToUnsigned<D> d;
    return {hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(c))};
  }
};

#define HOLOGRAM_VECTOR \
  template <class D>    \
  HWY_INLINE
#define HOLOGRAM_LANES         \
  template <class D, class DI> \
  HWY_INLINE

HOLOGRAM_VECTOR VectorValue<D> operator+(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Add(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorValue<D> operator-(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Sub(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorValue<D> operator*(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Mul(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorValue<D> operator/(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Div(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorValue<D> operator-(VectorValue<D> a) {
  return {hn::Xor(a.v, hn::SignBit(D()))};
}
HOLOGRAM_VECTOR VectorValue<D> fma(VectorValue<D> a, VectorValue<D> b, VectorValue<D> c) {
  return {Fma(D(), a.v, b.v, c.v)};
}
HOLOGRAM_VECTOR VectorValue<D> sqrt(VectorValue<D> a) { return {hn::Sqrt(a.v)}; }
HOLOGRAM_VECTOR VectorValue<D> abs(VectorValue<D> a) { return {hn::AndNot(hn::SignBit(D()), a.v)}; }
HOLOGRAM_VECTOR VectorValue<D> round(VectorValue<D> a) { return {Round(D(), a.v)}; }
HOLOGRAM_VECTOR VectorValue<D> trunc(VectorValue<D> a) { return {hn::Trunc(a.v)}; }

HOLOGRAM_VECTOR VectorBool<D> operator<(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Lt(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorBool<D> operator>(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Gt(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorBool<D> operator<=(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Le(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorBool<D> operator>=(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Ge(a.v, b.v)};
}
HOLOGRAM_VECTOR VectorBool<D> operator==(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Eq(a.v, b.v)};
}
// Highway's own Ne is false for NaN on AVX2 and AVX-512.
HOLOGRAM_VECTOR VectorBool<D> operator!=(VectorValue<D> a, VectorValue<D> b) {
  return {hn::Not(hn::Eq(a.v, b.v))};
}
HOLOGRAM_VECTOR VectorBool<D> operator&(VectorBool<D> a, VectorBool<D> b) {
  return {hn::And(a.mask, b.mask)};
}
HOLOGRAM_VECTOR VectorBool<D> operator|(VectorBool<D> a, VectorBool<D> b) {
  return {hn::Or(a.mask, b.mask)};
}
HOLOGRAM_VECTOR VectorBool<D> operator!(VectorBool<D> a) { return {hn::Not(a.mask)}; }

HOLOGRAM_VECTOR VectorValue<D> select(VectorBool<D> c, VectorValue<D> a, VectorValue<D> b) {
  return {hn::IfThenElse(c.mask, a.v, b.v)};
}
HOLOGRAM_LANES VectorOf<D, DI> select(VectorBool<D> c, VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::IfThenElse(hn::RebindMask(DI(), c.mask), a.v, b.v)};
}

HOLOGRAM_VECTOR VectorUInt<D> bits(VectorValue<D> a) {
  return {hn::BitCast(hn::RebindToUnsigned<D>(), a.v)};
}
HOLOGRAM_VECTOR VectorValue<D> from_bits(VectorUInt<D> a) { return {hn::BitCast(D(), a.v)}; }
HOLOGRAM_VECTOR VectorInt<D> as_int(VectorUInt<D> a) {
  return {hn::BitCast(hn::RebindToSigned<D>(), a.v)};
}
HOLOGRAM_VECTOR VectorUInt<D> as_uint(VectorInt<D> a) {
  return {hn::BitCast(hn::RebindToUnsigned<D>(), a.v)};
}

// Both conversions add a number whose last bit has the weight 1: no processor has to convert 64-bit
// integers, and nothing has to be saturated within the range the concept allows.
HOLOGRAM_VECTOR VectorInt<D> to_int(VectorValue<D> a) {
  const VectorValue<D> anchor = a.lit(sizeof(hn::TFromD<D>) == 4 ? 0x1.8p23 : 0x1.8p52);
  return as_int(bits(a + anchor) - bits(anchor));
}
HOLOGRAM_VECTOR VectorValue<D> to_float(VectorInt<D> a) {
  const VectorValue<D> anchor =
      VectorValue<D>{}.lit(sizeof(hn::TFromD<D>) == 4 ? 0x1.8p23 : 0x1.8p52);
  return from_bits(as_uint(a) + bits(anchor)) - anchor;
}

HOLOGRAM_LANES VectorOf<D, DI> operator+(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::Add(a.v, b.v)};
}
HOLOGRAM_LANES VectorOf<D, DI> operator-(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::Sub(a.v, b.v)};
}
HOLOGRAM_LANES VectorOf<D, DI> operator&(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::And(a.v, b.v)};
}
HOLOGRAM_LANES VectorOf<D, DI> operator|(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::Or(a.v, b.v)};
}
HOLOGRAM_LANES VectorOf<D, DI> operator^(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::Xor(a.v, b.v)};
}
template <int n, class D, class DI>
HWY_INLINE VectorOf<D, DI> shift_left(VectorOf<D, DI> a) {
  return {hn::ShiftLeft<n>(a.v)};
}
template <int n, class D, class DI>
HWY_INLINE VectorOf<D, DI> shift_right(VectorOf<D, DI> a) {
  return {hn::ShiftRight<n>(a.v)};
}
HOLOGRAM_LANES VectorBool<D> operator==(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::RebindMask(D(), hn::Eq(a.v, b.v))};
}
HOLOGRAM_LANES VectorBool<D> operator<(VectorOf<D, DI> a, VectorOf<D, DI> b) {
  return {hn::RebindMask(D(), hn::Lt(a.v, b.v))};
}
HOLOGRAM_VECTOR VectorUInt<D> shift_left(VectorUInt<D> a, VectorUInt<D> n) {
  return {hn::Shl(a.v, n.v)};
}
HOLOGRAM_VECTOR VectorUInt<D> shift_right(VectorUInt<D> a, VectorUInt<D> n) {
  return {hn::Shr(a.v, n.v)};
}

// Lane by lane: Highway multiplies 64-bit integers on few targets, and only argument reduction of
// huge angles comes here.
template <class D, class Fn>
HWY_INLINE VectorUInt<D> lane_by_lane(VectorUInt<D> a, VectorUInt<D> b, Fn fn) {
  const hn::RebindToUnsigned<D> d;
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<decltype(d)> x[kLanes], y[kLanes];
  hn::Store(a.v, d, x);
  hn::Store(b.v, d, y);
  for (size_t i = 0; i < kLanes; ++i) x[i] = fn(x[i], y[i]);
  return {hn::Load(d, x)};
}
HOLOGRAM_VECTOR VectorUInt<D> operator*(VectorUInt<D> a, VectorUInt<D> b) {
  return lane_by_lane(a, b,
                      program::expansions::wrapping_multiply<hn::TFromD<hn::RebindToUnsigned<D>>>);
}
HOLOGRAM_VECTOR VectorUInt<D> mulhi(VectorUInt<D> a, VectorUInt<D> b) {
  return lane_by_lane(a, b,
                      program::expansions::multiply_high<hn::TFromD<hn::RebindToUnsigned<D>>>);
}

template <class D, class... T>
HWY_INLINE std::tuple<T...> select(VectorBool<D> c, const std::tuple<T...>& a,
                                   const std::tuple<T...>& b) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return std::tuple<T...>(select(c, std::get<I>(a), std::get<I>(b))...);
  }
  (std::index_sequence_for<T...>());
}

template <class D, class T, class Fn>
HWY_INLINE T rare(VectorBool<D> c, T common, Fn fn) {
  if (HWY_UNLIKELY(!hn::AllFalse(D(), c.mask))) return select(c, fn(), common);
  return common;
}

#undef HOLOGRAM_VECTOR
#undef HOLOGRAM_LANES

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
