// erf.
#if defined(HOLOGRAM_EXPANSIONS_ERF_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_ERF_HPP
#undef HOLOGRAM_EXPANSIONS_ERF_HPP
#else
#define HOLOGRAM_EXPANSIONS_ERF_HPP
#endif

#include "program/expansions/exp.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct ErfConstants;

template <>
struct ErfConstants<32> {
  // erf(x)/x - 1 in x^2 for |x| <= 1; relative error of erf 2^-29.3.
  static constexpr double inner[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2cf2p-4, -0x1.b7f88cp-6,
                                     0x1.540172p-8, -0x1.a3d812p-11, 0x1.4917a4p-14};
  // -log(1 - erf(x)) in x - 1 for 1 <= x <= 3.95, where erf reaches 1; relative error of erf
  // 2^-26.6.
  static constexpr double outer[] = {0x1.d97fcp0,    0x1.51c9bp1,   0x1.afabbap-1,  0x1.547d16p-5,
                                     -0x1.4934e6p-7, 0x1.07bad6p-9, -0x1.2fa81p-12, 0x1.6c0696p-16};
  static constexpr double one = 3.95;
};

template <>
struct ErfConstants<64> {
  // Relative error of erf 2^-56.0.
  static constexpr double inner[] = {
      0x1.06eba8214db68p-3,  -0x1.812746b0379b2p-2,  0x1.ce2f21a0408d1p-4,  -0x1.b82ce311ee09bp-6,
      0x1.565bccf7e2856p-8,  -0x1.c02db0149d904p-11, 0x1.f9a2b75531772p-14, -0x1.f4ca204c771c5p-17,
      0x1.b97e44280cfb9p-20, -0x1.5bfe76384472p-23,  0x1.d6e3ddfeb1f49p-27, -0x1.ab15c51d2ebebp-31};
  // For 1 <= x <= 5.95; relative error of erf 2^-57.6.
  static constexpr double outer[] = {
      0x1.d97fbf27aa2a1p0,    0x1.51c9b0006c237p1,    0x1.afabc11a29553p-1,
      0x1.5477f09c109cbp-5,   -0x1.48c9d3ed5a5a8p-7,  0x1.033f65e9c1d97p-9,
      -0x1.f1b3989457356p-13, -0x1.b8dd43403c843p-16, 0x1.c7a4bfbc31514p-16,
      -0x1.4263ae92ef9d5p-17, 0x1.145193fa35459p-19,  -0x1.31016e940774cp-23,
      -0x1.a52c327f55215p-24, 0x1.c0fe1f1185d48p-25,  -0x1.017bb461cfa78p-26,
      0x1.8c0da5d70ea01p-29,  -0x1.97e4d9ad15704p-32, 0x1.ff60602251fd5p-36,
      -0x1.277542ec65cafp-40};
  static constexpr double one = 5.95;
};

// An odd polynomial up to 1; beyond, 1 - exp(-P(x - 1)), where an error of P counts at most for the
// sixth part.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F erf(F x) {
  using T = ErfConstants<F::width>;
  const F a = abs(x);
  const F inner = fma(a, polynomial(a * a, T::inner), a);
  const F high = x.lit(T::one);
  const F clamped = select(a > high, high, a);
  const F outer = x.lit(1) - exp_usual(-polynomial(clamped - x.lit(1), T::outer));
  return flip_sign(select(a > x.lit(1), outer, inner), x);
}

HOLOGRAM_EXPANSIONS_END;
#endif
