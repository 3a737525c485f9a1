// asin, acos, atan, atan2.
#if defined(HOLOGRAM_EXPANSIONS_INVERSE_TRIG_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_INVERSE_TRIG_HPP
#undef HOLOGRAM_EXPANSIONS_INVERSE_TRIG_HPP
#else
#define HOLOGRAM_EXPANSIONS_INVERSE_TRIG_HPP
#endif

#include <limits>

#include "program/expansions/common.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct InverseTrigConstants;

template <>
struct InverseTrigConstants<32> {
  static constexpr double half_pi_hi = 0x1.921fb6p0, half_pi_lo = -0x1.777a5cp-25;
  // (asin(s) - s) / s^3 in s^2 for |s| <= 1/2; relative error of asin 2^-31.6.
  static constexpr double asin_tail[] = {0x1.55554cp-3, 0x1.33389ep-4, 0x1.6caab6p-5,
                                         0x1.04af34p-5, 0x1.d7924cp-7, 0x1.33d432p-5};
  // (atan(t) - t) / t^3 in t^2 for |t| <= 1; relative error of atan 2^-31.1.
  static constexpr double atan_tail[] = {
      -0x1.555552p-2, 0x1.99981cp-3,  -0x1.24761ep-3, 0x1.c51134p-4,  -0x1.695258p-4,
      0x1.1505b2p-4,  -0x1.70718ap-5, 0x1.751176p-6,  -0x1.e65e16p-8, 0x1.292c46p-10};
};

template <>
struct InverseTrigConstants<64> {
  static constexpr double half_pi_hi = 0x1.921fb54442d18p0, half_pi_lo = 0x1.1a62633145c07p-54;
  // Relative error of asin 2^-59.8.
  static constexpr double asin_tail[] = {
      0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db721247bp-5, 0x1.f1c71a95002fbp-6,
      0x1.6e8bdedebf9dfp-6, 0x1.1c49f077d5bc7p-6, 0x1.ca1f8af1f0a39p-7, 0x1.75859dad05d9ap-7,
      0x1.613c1e6ed7236p-7, 0x1.e5fbe88dfeb2cp-9, 0x1.639a894e21126p-6, -0x1.57fad0dea93ccp-6,
      0x1.0b45e9f72d94bp-5};
  // Relative error of atan 2^-60.1.
  static constexpr double atan_tail[] = {
      -0x1.555555555554dp-2, 0x1.9999999998c67p-3, -0x1.2492492457733p-3,  0x1.c71c71b6533adp-4,
      -0x1.745d15d2f761ap-4, 0x1.3b139bee44a76p-4, -0x1.1110336b0666cp-4,  0x1.e1d493513b7e8p-5,
      -0x1.aeda8a48feb1ap-5, 0x1.84b518dc66e12p-5, -0x1.5f2654b39b7edp-5,  0x1.39092d00e3c17p-5,
      -0x1.0c9c8c4209a49p-5, 0x1.ac8fa3a728b16p-6, -0x1.3113473080413p-6,  0x1.7306a44f41a19p-7,
      -0x1.7007b59aecaffp-8, 0x1.1a376b8d02319p-9, -0x1.371c6fdd3487ap-11, 0x1.b4180c1eeea2p-14,
      -0x1.22b3e75e0b447p-17};
};

// asin(s) = s + small where s = |x| and small = s^3 P(s^2), or beyond |x| = 1/2, where asin is
// steep, s = sqrt((1 - |x|) / 2) and asin |x| = pi/2 - 2 asin(s).
template <class F>
struct ArcSine {
  typename F::Bool steep;
  F s, small;
};
template <class F>
HOLOGRAM_EXPANSIONS_INLINE ArcSine<F> arc_sine(F x) {
  const F a = abs(x);
  const auto steep = a > x.lit(0.5);
  const F z = select(steep, (x.lit(1) - a) * x.lit(0.5), a * a);
  const F s = select(steep, sqrt(z), a);
  return {steep, s, s * z * polynomial(z, InverseTrigConstants<F::width>::asin_tail)};
}

// The same NaN beyond 1 and of every NaN: two of different signs would meet, and compilers choose.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F within_one(F x, F y) {
  return select(abs(x) <= x.lit(1), y, x.lit(std::numeric_limits<double>::quiet_NaN()));
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F asin(F x) {
  using T = InverseTrigConstants<F::width>;
  const auto [steep, s, small] = arc_sine(x);
  const auto rest = fast_two_sum(x.lit(T::half_pi_hi), -(s + s));
  const F rest_lo = rest.lo - (small + small - x.lit(T::half_pi_lo));
  return within_one(x, flip_sign(select(steep, rest.hi + rest_lo, s + small), x));
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F acos(F x) {
  using T = InverseTrigConstants<F::width>;
  const auto [steep, s, small] = arc_sine(x);
  const F hi = x.lit(T::half_pi_hi), lo = x.lit(T::half_pi_lo);
  const F y = s + small;
  const F flat = hi - (flip_sign(s, x) + (flip_sign(small, x) - lo));
  const F left = hi - (y - lo);
  return within_one(x, select(steep, select(x < x.lit(0), left + left, y + y), flat));
}

// atan(t) for 0 <= t <= 1.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F arc_tangent(F t) {
  const F z = t * t;
  return fma(t * z, horner(z, InverseTrigConstants<F::width>::atan_tail), t);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F atan(F x) {
  using T = InverseTrigConstants<F::width>;
  const F a = abs(x);
  const auto steep = a > x.lit(1);
  const F y = arc_tangent(select(steep, x.lit(1) / a, a));
  const F rest = x.lit(T::half_pi_hi) - (y - x.lit(T::half_pi_lo));
  return flip_sign(select(steep, rest, y), x);
}

// The angle of (x, y), from the quotient of the smaller by the larger of |x| and |y|.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F atan2(F y, F x) {
  using T = InverseTrigConstants<F::width>;
  const F zero = x.lit(0);
  const F ax = abs(x), ay = abs(y);
  const auto steep = ay > ax;
  const F top = select(steep, ax, ay), bottom = select(steep, ay, ax);
  const F quotient = select(top == x.lit(kInfinity), x.lit(1), top / bottom);
  const F t = select(bottom == zero, zero, quotient);
  const F angle = arc_tangent(t);
  const auto left = as_int(bits(x)) < x.int_lit(0);  // also for -0
  // From the axis that is near: 0, pi/2 or pi, and then towards the other one.
  const F one = x.lit(1);
  const F quarters = select(steep, one, select(left, one + one, zero));
  const F toward = select(steep, select(left, angle, -angle), select(left, -angle, angle));
  const F r = fma(quarters, x.lit(T::half_pi_hi), fma(quarters, x.lit(T::half_pi_lo), toward));
  return select(is_nan(x) | is_nan(y), x + y, flip_sign(r, y));
}

HOLOGRAM_EXPANSIONS_END;
#endif
