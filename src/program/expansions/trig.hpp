// sin, cos, tan.
#if defined(HOLOGRAM_EXPANSIONS_TRIG_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_TRIG_HPP
#undef HOLOGRAM_EXPANSIONS_TRIG_HPP
#else
#define HOLOGRAM_EXPANSIONS_TRIG_HPP
#endif

#include "program/expansions/reduce.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

// Polynomials in r^2 for |r| <= 0.8, a little more than pi/4:
//   sin r = r + r^3 sine, cos r = 1 - r^2/2 + r^4 cosine, tan r = r + r^3 tangent.
template <int width>
struct TrigConstants;

template <>
struct TrigConstants<32> {
  // Relative errors of sin, cos, tan: 2^-32.1, 2^-32.5, 2^-32.7.
  static constexpr double sine[] = {-0x1.555556p-3, 0x1.11116p-7, -0x1.a0439cp-13, 0x1.76878cp-19};
  static constexpr double cosine[] = {0x1.555548p-5, -0x1.6c0b08p-10, 0x1.999a6cp-16};
  static constexpr double tangent[] = {0x1.555554p-2,   0x1.11119ap-3, 0x1.b9f6dcp-5,
                                       0x1.68a9e8p-6,   0x1.0d6bfcp-7, 0x1.56240ap-8,
                                       -0x1.b884ecp-11, 0x1.195cb4p-9};
};

template <>
struct TrigConstants<64> {
  // Relative errors of sin, cos, tan: 2^-62.8, 2^-63.5, 2^-59.0.
  static constexpr double sine[] = {
      -0x1.5555555555555p-3,  0x1.111111111108fp-7, -0x1.a01a01a007f31p-13, 0x1.71de3a41d9f97p-19,
      -0x1.ae643fd562548p-26, 0x1.61166a89c3eep-33, -0x1.a64997b42e844p-41};
  static constexpr double cosine[] = {0x1.5555555555548p-5,  -0x1.6c16c16c149a9p-10,
                                      0x1.a01a019befa6bp-16, -0x1.27e4f77ebfeacp-22,
                                      0x1.1ee98deec25f1p-29, -0x1.8f7e4238c61abp-37};
  static constexpr double tangent[] = {
      0x1.5555555555565p-2,  0x1.111111110fd79p-3,  0x1.ba1ba1bb2ebeep-5,  0x1.664f4845a5fccp-6,
      0x1.226e3d6efa576p-7,  0x1.d6d26f0e405d7p-9,  0x1.7db82a2587b48p-10, 0x1.347b082276b4ap-11,
      0x1.016154ae10aeap-12, 0x1.4c631b22d73e8p-14, 0x1.3a7fc3aa27516p-14, -0x1.28701b3c2b08p-15,
      0x1.db2ee750a7d25p-15, -0x1.d912628e4d74p-16, 0x1.65c54d49254p-17};
};

// sin(hi + lo + quadrant pi/2).
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F sine_of(F hi, F lo, typename F::Int quadrant) {
  using T = TrigConstants<F::width>;
  const F z = hi * hi;
  const F sine = hi + fma(hi * z, polynomial(z, T::sine), lo);
  const F cosine = fma(z, fma(z, polynomial(z, T::cosine), z.lit(-0.5)), z.lit(1));
  const auto q = as_uint(quadrant);
  const auto even = (q & z.uint_lit(1)) == z.uint_lit(0);
  const auto sign = shift_left<F::width - 2>(q & z.uint_lit(2));
  return from_bits(bits(select(even, sine, cosine)) ^ sign);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE Angle<F> reduce_angle(F x) {
  const auto [n, place] = whole(x, kTwoOverPi);
  return reduce_angle(x, n, as_int(bits(place)));
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F sin(F x) {
  const auto [hi, lo, quadrant] = reduce_angle(x);
  return select(x == x.lit(0), x, sine_of(hi, lo, quadrant));
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F cos(F x) {
  const auto [hi, lo, quadrant] = reduce_angle(x);
  return sine_of(hi, lo, quadrant + x.int_lit(1));
}

// Its largest error is found where r is a little more than pi/4, so it depends on how n is rounded:
// of the rounded product it is 1.70 ULP, of the product itself 2.06.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F tan(F x) {
  using T = TrigConstants<F::width>;
  const F n = round(x * x.lit(kTwoOverPi));
  const auto [hi, lo, quadrant] = reduce_angle(x, n, to_int(n));
  const F z = hi * hi;
  const F t = hi + fma(hi * z, polynomial(z, T::tangent), fma(z, lo, lo));
  const auto even = (as_uint(quadrant) & x.uint_lit(1)) == x.uint_lit(0);
  const F y = select(even, t, x.lit(-1) / t);
  return select(x == x.lit(0), x, y);
}

HOLOGRAM_EXPANSIONS_END;
#endif
