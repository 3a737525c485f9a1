// exp, exp2, expm1.
//
// x = n ln 2 + r with integral n and |r| <= ln(2)/2 (Cody and Waite, "Software Manual for the
// Elementary Functions", 1980); exp(r) by a polynomial; the result is 2^n exp(r). Coefficients here
// and in the other files: scripts/coefficients.sollya.
#if defined(HOLOGRAM_EXPANSIONS_EXP_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_EXP_HPP
#undef HOLOGRAM_EXPANSIONS_EXP_HPP
#else
#define HOLOGRAM_EXPANSIONS_EXP_HPP
#endif

#include "program/expansions/common.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

inline constexpr double kLog2E = 0x1.71547652b82fep0;

template <int width>
struct ExpConstants;

template <>
struct ExpConstants<32> {
  static constexpr double ln2_hi = 0x1.62e43p-1;
  static constexpr double ln2_lo = -0x1.05c61p-29;
  // (expm1(r) - r) / r^2 on |r| <= ln(2)/2; relative error of expm1 2^-30.9.
  static constexpr double tail[] = {0x1p-1,        0x1.555554p-3,  0x1.5554fp-5,
                                    0x1.111306p-7, 0x1.6d4388p-10, 0x1.9e0ca2p-13};
  // (1 - exp(-r) - r) / r^2 for |r| <= ln(2)/2; relative error of 1 - exp(-r) 2^-26.1.
  static constexpr double decay_tail[] = {-0x1.fffffep-2, 0x1.5554bp-3, -0x1.555718p-5,
                                          0x1.1227b8p-7, -0x1.6b7182p-10};
  static constexpr double usual = 87;  // below this |x|, exp(x) needs no care with its exponent
  static constexpr double overflow = 89, underflow = -104;                   // inf above, 0 below
  static constexpr double usual2 = 126, overflow2 = 129, underflow2 = -151;  // the same of exp2
  static constexpr double minus_one = -18;  // expm1 rounds to -1 below
  static constexpr double tiny = 0x1p-25;   // expm1(x) rounds to x below
};

template <>
struct ExpConstants<64> {
  static constexpr double ln2_hi = 0x1.62e42fefa39efp-1;
  static constexpr double ln2_lo = 0x1.abc9e3b39803fp-56;
  // Relative error of expm1 2^-61.5.
  static constexpr double tail[] = {0x1p-1,
                                    0x1.5555555555559p-3,
                                    0x1.555555555554dp-5,
                                    0x1.111111110f64bp-7,
                                    0x1.6c16c16c1ab03p-10,
                                    0x1.a01a01b00a5dep-13,
                                    0x1.a01a018e103d9p-16,
                                    0x1.71ddf7f7e5967p-19,
                                    0x1.27e5132ae42a2p-22,
                                    0x1.af5f5eb3811bcp-26,
                                    0x1.1f1a66d05a922p-29};
  // Relative error 2^-55.5.
  static constexpr double decay_tail[] = {
      -0x1.0000000000005p-1,  0x1.555555555553ap-3,  -0x1.55555555520e5p-5,  0x1.1111111118c58p-7,
      -0x1.6c16c17f3e4e5p-10, 0x1.a01a01768e14bp-13, -0x1.a019a66921555p-16, 0x1.71de84036738ap-19,
      -0x1.28a2cf35c1ea7p-22, 0x1.ae7313f5ea9bp-26};
  static constexpr double usual = 708;
  static constexpr double overflow = 710, underflow = -746;
  static constexpr double usual2 = 1022, overflow2 = 1025, underflow2 = -1077;
  static constexpr double minus_one = -38;
  static constexpr double tiny = 0x1p-54;
};

// expm1(r + c) for |r| <= ln(2)/2 and c of the size of r's rounding error.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F expm1_reduced(F r, F c) {
  const F square = r * r;
  return r + fma(square, pairs(r, square, ExpConstants<F::width>::tail), c);
}
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F expm1_reduced(F r) {
  const F square = r * r;
  return fma(square, pairs(r, square, ExpConstants<F::width>::tail), r);
}

// 1 - exp(-r) for |r| <= ln(2)/2, not as closely: where it is but a part of the result.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F decay_reduced(F r) {
  return fma(r * r, polynomial(r, ExpConstants<F::width>::decay_tail), r);
}

// p 2^n for p near 1 where the result is a normal number; n are the last bits of `place`.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F scale(F p, F place) {
  return from_bits(bits(p) + as_exponent(place));
}

// p 2^n rounded once, for |n| up to twice the exponent range: denormal, or infinite if too large.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F scale_far(F p, F n) {
  const F half = round(n * n.lit(0.5));
  return p * power_of_two(half) * power_of_two(n - half);
}

// x = n ln 2 + r, with n + bias in the last bits of `place`.
template <class F>
struct ExpArgument {
  F n, r, place;
};
template <class F>
HOLOGRAM_EXPANSIONS_INLINE ExpArgument<F> reduce_exp(F x, int bias = 0) {
  using T = ExpConstants<F::width>;
  const auto [n, place] = whole(x, kLog2E, bias);
  return {n, fma(n, x.lit(-T::ln2_lo), fma(n, x.lit(-T::ln2_hi), x)), place};
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F exp(F x) {
  using T = ExpConstants<F::width>;
  const auto a = reduce_exp(x);
  const F p = x.lit(1) + expm1_reduced(a.r);
  return rare(!(abs(x) < x.lit(T::usual)), scale(p, a.place), [&] {
    const F y = select(x > x.lit(T::overflow), x.lit(kInfinity), scale_far(p, a.n));
    return select(x < x.lit(T::underflow), x.lit(0), y);
  });
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F exp2(F x) {
  using T = ExpConstants<F::width>;
  const auto a = whole(x, 1);
  const F f = x - a.n;
  const auto r = two_product(f, x.lit(T::ln2_hi));
  const F p = x.lit(1) + expm1_reduced(r.hi, fma(f, x.lit(T::ln2_lo), r.lo));
  return rare(!(abs(x) < x.lit(T::usual2)), scale(p, a.place), [&] {
    const F y = select(x > x.lit(T::overflow2), x.lit(kInfinity), scale_far(p, a.n));
    return select(x < x.lit(T::underflow2), x.lit(0), y);
  });
}

// 2^n (1 + expm1(r)) - 1, arranged so that nothing cancels more than half a bit.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F expm1(F x) {
  using T = ExpConstants<F::width>;
  const F low = x.lit(T::minus_one);
  const F clamped = select(x < low, low, x);
  const auto a = whole(clamped, kLog2E, Format<F::width>::bias);
  const F first = fma(a.n, x.lit(-T::ln2_hi), clamped);
  const F r = fma(a.n, x.lit(-T::ln2_lo), first);
  const F c = fma(a.n, x.lit(-T::ln2_lo), first - r);
  const F q = expm1_reduced(r, c);
  const F s = power_at(a.place);
  const F y = rare(!(x < x.lit(T::usual)), fma(s, q, s - x.lit(1)), [&] {
    const F half = power_of_two(a.n - x.lit(1));
    return select(x > x.lit(T::overflow), x.lit(kInfinity), fma(half, q, half) * x.lit(2));
  });
  return select(abs(x) < x.lit(T::tiny), x, y);
}

HOLOGRAM_EXPANSIONS_END;
#endif
