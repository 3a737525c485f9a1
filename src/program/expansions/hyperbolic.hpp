// sinh, cosh, tanh, sigmoid.
#if defined(HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#undef HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#else
#define HOLOGRAM_EXPANSIONS_HYPERBOLIC_HPP
#endif

#include "program/expansions/exp.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct HyperbolicConstants;

template <>
struct HyperbolicConstants<32> {
  // (tanh(x) - x) / x^3 in x^2 for |x| <= 0.55; relative error of tanh 2^-29.6.
  static constexpr double tanh_tail[] = {-0x1.55554ap-2, 0x1.110dp-3, -0x1.b92358p-5, 0x1.5918a4p-6,
                                         -0x1.9a79bap-8};
  static constexpr double tanh_one = 10;  // tanh rounds to 1 above
};

template <>
struct HyperbolicConstants<64> {
  // Relative error of tanh 2^-64.6.
  static constexpr double tanh_tail[] = {
      -0x1.5555555555555p-2,  0x1.111111111108ep-3,  -0x1.ba1ba1ba125bcp-5,  0x1.664f48800b5afp-6,
      -0x1.226e34e57d339p-7,  0x1.d6d3b5b1a2c71p-9,  -0x1.7da155385b0d6p-10, 0x1.353ca00dc12bap-11,
      -0x1.f37f6462681adp-13, 0x1.89d1133362acbp-14, -0x1.13c80213ad069p-15, 0x1.f0a28fb85478ap-18};
  static constexpr double tanh_one = 22;
};

// A polynomial near 0; 1 - 2 / (exp(2x) + 1) elsewhere, where the quotient is below 1/2.
template <class F>
inline F tanh(F x) {
  using T = HyperbolicConstants<F::width>;
  const F a = abs(x);
  const F high = x.lit(T::tanh_one);
  const F clamped = select(a > high, high, a);
  const F e = exp_usual(clamped + clamped);
  const F outer = x.lit(1) - x.lit(2) / (e + x.lit(1));
  const F z = x * x;
  const F inner = fma(x * z, polynomial(z, T::tanh_tail), x);
  return select(a > x.lit(0.55), flip_sign(outer, x), inner);  // NaN goes through the polynomial
}

// 1 / (1 + e) for e = exp(-x), or e / (1 + e) for e = exp(x): through exp(-|x|) nothing overflows.
// The roundings of the sum and of the quotient are taken back by the remainder of the division.
template <class F>
inline F sigmoid(F x) {
  const F e = exp(-abs(x));
  const F one = x.lit(1);
  const auto negative = x < x.lit(0);
  const F top = select(negative, e, one);
  const auto bottom = fast_two_sum(one, e);
  const F q = top / bottom.hi;
  const F remainder = fma(-q, bottom.lo, fma(-q, bottom.hi, top));
  return fma(remainder, select(negative, one - q, q), q);
}

HOLOGRAM_EXPANSIONS_END;
#endif
