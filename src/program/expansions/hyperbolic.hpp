// sinh, cosh, tanh, sigmoid.
#if defined(HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#undef HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#else
#define HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#endif

#include <iterator>

#include "program/expansions/exp.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct HyperbolicConstants;

template <>
struct HyperbolicConstants<32> {
  static constexpr double tanh_one = 10;  // tanh rounds to 1 above
  // (sinh(x) - x) / x^3 in x^2 for |x| <= 1; relative error of sinh 2^-31.3.
  static constexpr double sinh_inner[] = {0x1.555556p-3, 0x1.1110eap-7, 0x1.a01c22p-13,
                                          0x1.76771ep-19};
  // The same for |x| <= ln(2)/2, and (cosh(x) - 1) / x^2; relative errors 2^-34.1 and 2^-33.2.
  static constexpr double sinh_tail[] = {0x1.555556p-3, 0x1.110fe2p-7, 0x1.a28f26p-13};
  static constexpr double cosh_tail[] = {0x1p-1, 0x1.5554e4p-5, 0x1.6d5164p-10};
  static constexpr double overflow = 89.7;   // sinh and cosh are infinite from a little below
  static constexpr double vanished = 40;     // of n: 2^-n is nothing beside 2^n
  static constexpr double sigmoid_one = 18;  // sigmoid rounds to 1 above
};

template <>
struct HyperbolicConstants<64> {
  static constexpr double tanh_one = 22;
  // Relative errors 2^-62.5, 2^-64.8, 2^-70.0.
  static constexpr double sinh_inner[] = {
      0x1.5555555555555p-3,  0x1.111111111117cp-7,  0x1.a01a01a00db3ap-13, 0x1.71de3a60a9f7dp-19,
      0x1.ae644b32db998p-26, 0x1.612abe6b5d71ep-33, 0x1.aab9951a7065bp-41, 0x1.409579384599ap-48};
  static constexpr double sinh_tail[] = {0x1.5555555555555p-3,  0x1.111111111130ap-7,
                                         0x1.a01a019f13e56p-13, 0x1.71de3e355857ap-19,
                                         0x1.ae56a1fe07812p-26, 0x1.73beacae0a3b8p-33};
  static constexpr double cosh_tail[] = {0x1p-1,
                                         0x1.5555555555558p-5,
                                         0x1.6c16c16c15006p-10,
                                         0x1.a01a01ad7a29bp-16,
                                         0x1.27e4cc1d13da1p-22,
                                         0x1.1f8bc952c9b99p-29};
  static constexpr double overflow = 710.7;
  static constexpr double vanished = 80;
  static constexpr double sigmoid_one = 38;
};

// exp(a) / 4 = up (1 + plus) and exp(-a) / 4 = down (1 + minus) for a >= 0: quarters, so that
// neither overflows before sinh and cosh do. Both polynomials come from one even and one odd part.
template <class F>
struct ExpPair {
  F up, plus, down, minus;
};
template <class F>
HOLOGRAM_EXPANSIONS_INLINE ExpPair<F> exp_pair(F a) {
  using T = HyperbolicConstants<F::width>;
  const F high = a.lit(T::overflow);
  const auto [n, r, place] = reduce_exp(select(a > high, high, a), Format<F::width>::bias - 2);
  const F z = r * r;
  const F even = z * polynomial(z, T::cosh_tail);
  const F odd = r * z * polynomial(z, T::sinh_tail);  // beyond r itself
  const F two = a.lit(2), zero = a.lit(0);
  const auto both = n < a.lit(T::vanished);
  const F down = select(both, power_of_two(select(both, -n, zero) - two), zero);
  return {power_at(place), r + (even + odd), down, (even - odd) - r};
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F sinh(F x) {
  const F a = abs(x);
  const auto e = exp_pair(a);
  const F outer = (e.up - e.down) + fma(e.plus, e.up, -(e.minus * e.down));
  const F z = a * a;
  const F inner = fma(a * z, polynomial(z, HyperbolicConstants<F::width>::sinh_inner), a);
  return flip_sign(select(a > x.lit(1), outer + outer, inner), x);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F cosh(F x) {
  const auto e = exp_pair(abs(x));
  const F half = (e.up + e.down) + fma(e.plus, e.up, e.minus * e.down);
  return half + half;
}

// (expm1(2h) / 2 - h) / h^2 on |h| <= ln(2)/4, from the coefficients of expm1(r) and 2, or from
// those of 1 - exp(-r) and -2.
template <size_t N>
struct HalfTail {
  double c[N] = {};
  constexpr HalfTail(const double (&whole)[N], double two) {
    double scale = two;
    for (size_t k = 0; k < N; k++, scale *= two) c[k] = scale * whole[k];
  }
};

// expm1(2x) / 2 as (2^n - 1) / 2 + 2^n expm1(2h) / 2 for 0 <= x = n ln(2)/2 + h.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F half_expm1_of_twice(F x) {
  using E = ExpConstants<F::width>;
  constexpr double kHalf = 0.5;
  const auto [n, place] = whole(x, 2 * kLog2E, Format<F::width>::bias);
  const F h = fma(n, x.lit(-kHalf * E::ln2_hi), x), square = h * h;
  const F s = power_at(place), less = fma(s, x.lit(kHalf), x.lit(-kHalf));
  if constexpr (F::width == 32) {
    // ln(2) lies 2^-30 beside its 24 bits: for tanh, which hardly depends on x where n is large,
    // that is near enough.
    static constexpr HalfTail kTail(E::decay_tail, -2);
    return fma(s, fma(square, pairs(h, square, kTail.c), h), less);
  } else {
    static constexpr HalfTail kTail(E::tail, 2);
    const F rest = fma(square, pairs(h, square, kTail.c), n * x.lit(-kHalf * E::ln2_lo));
    return fma(s, rest, fma(s, h, less));
  }
}

// e / (e + 1) with e = expm1(2x) / 2, as m - m (m / (e + 1)), which is that for m = e and for m =
// 1: with the lesser of them, the quotient's error hardly counts.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F tanh(F x) {
  const F a = abs(x), one = x.lit(1);
  const F high = x.lit(HyperbolicConstants<F::width>::tanh_one);
  const F e = half_expm1_of_twice(select(a > high, high, a));
  const F m = select(e < one, e, one);  // of a NaN 1: two would leave open whose sign comes out
  return flip_sign(fma(-m, m / (e + one), m), x);
}

// 2^n / (2^n + exp(-r)) for x = n ln 2 + r, from m = 1 - exp(-r): the sum is rounded once where it
// counts, since 2^n + 1 is exact for 0 <= n <= 23 (52) and where n is less m - 2^n is small.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F sigmoid(F x) {
  using T = HyperbolicConstants<F::width>;
  using E = ExpConstants<F::width>;
  const F one = x.lit(1), zero = x.lit(0), high = x.lit(T::sigmoid_one);
  const auto a = reduce_exp(select(x > high, high, x), Format<F::width>::bias);
  const F m = decay_reduced(a.r);
  const auto below = a.n < zero;
  const auto of_power = [&](F s) {
    return s / (select(below, one, s + one) - select(below, m - s, m));
  };
  return rare(!(x > x.lit(-E::usual)), of_power(power_at(a.place)),
              [&] { return select(x < x.lit(E::underflow), zero, of_power(scale_far(one, a.n))); });
}

HOLOGRAM_EXPANSIONS_END;
#endif
