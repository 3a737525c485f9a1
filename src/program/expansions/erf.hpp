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
  static constexpr double first = 0x1.20dd76p0;  // 2/sqrt(pi)
  // -log(1 - erf(x))/x - first for 0 < x <= 3.95, where erf reaches 1; relative error of erf
  // 2^-27.4.
  static constexpr double rest[] = {-0x1.d0e17cp-25, 0x1.45f2fap-1,  0x1.a4fa5ep-4,
                                    -0x1.39cdc6p-6,  -0x1.505fcp-13, 0x1.b5004ap-10,
                                    -0x1.4bc9e6p-11, 0x1.ed6c4ap-14, -0x1.3696a8p-17};
  static constexpr double one = 3.95;
};

template <>
struct ErfConstants<64> {
  static constexpr double first = 0x1.20dd750429b6dp0;
  // For 0 < x <= 5.95; relative error of erf 2^-57.2.
  static constexpr double rest[] = {
      0x1.67898014b3fd8p-57,  0x1.45f306dc9c897p-1,   0x1.a4f4e2a1b207ap-4,
      -0x1.39668593d7c94p-6,  -0x1.b6b68bee60c47p-13, 0x1.bca67bd0ee587p-10,
      -0x1.35654f999f6bcp-11, 0x1.b22bc1fb08adap-16,  0x1.0e7f9c0c71c7p-14,
      -0x1.f2afd1cf67f9p-16,  0x1.c950f556b7fp-19,    0x1.7c8660f46b638p-19,
      -0x1.d37d966e1afcp-20,  0x1.692916f35ab3fp-22,  0x1.269b5c96d1252p-23,
      -0x1.306fccfbad4b1p-23, 0x1.1a53cd57ddd3bp-24,  -0x1.682415184d10ep-26,
      0x1.5771f3817540dp-28,  -0x1.f34f502a39a99p-31, 0x1.1288bd4fed974p-33,
      -0x1.bbb8bceed524p-37,  0x1.f1fa37e3f625ep-41,  -0x1.5ad68c18e61e5p-45,
      0x1.c3a1a3743ae44p-51};
  static constexpr double one = 5.95;
};

// 1 - exp(-P(x)): with P = r - n ln 2 it is (1 - 2^n) + 2^n (1 - exp(-r)), where nothing cancels.
// P is -log(1 - erf(x)), an error of which counts for less and less; one constant is enough for
// ln 2.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F erf(F x) {
  using T = ErfConstants<F::width>;
  const F a = abs(x), high = x.lit(T::one);
  const F clamped = select(a > high, high, a);
  const F p = fma(clamped, x.lit(T::first), clamped * polynomial(clamped, T::rest));
  const auto [n, place] = whole(p, -kLog2E, Format<F::width>::bias);
  const F s = power_at(place);
  const F m = decay_reduced(fma(n, x.lit(ExpConstants<F::width>::ln2_hi), p));
  return flip_sign(fma(s, m, x.lit(1) - s), x);
}

HOLOGRAM_EXPANSIONS_END;
#endif
