// pow, rsqrt.
//
// |x|^y = 2^(y log2 |x|) with the logarithm and the product as sums of two numbers, since an error
// of the exponent is multiplied by up to the largest exponent.
#if defined(HOLOGRAM_EXPANSIONS_POW_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_POW_HPP
#undef HOLOGRAM_EXPANSIONS_POW_HPP
#else
#define HOLOGRAM_EXPANSIONS_POW_HPP
#endif

#include "program/expansions/exp.hpp"
#include "program/expansions/log.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct PowConstants;

template <>
struct PowConstants<32> {
  static constexpr double third_hi = 0x1.555556p-2, third_lo = -0x1.555556p-27;
  static constexpr double two_log2e_hi = 0x1.715476p1, two_log2e_lo = 0x1.4ae0cp-25;
  // (atanh(s) - s - s^3/3) / s^5 in s^2 for |s| <= 0.1716; relative error of atanh 2^-43.5.
  static constexpr double atanh_tail[] = {0x1.999998p-3, 0x1.2493acp-3, 0x1.c644a6p-4,
                                          0x1.8fedc8p-4};
  static constexpr double usual = 125;  // of the exponent of 2
  static constexpr double limit = 160;  // where the result is infinite or zero for certain
};

template <>
struct PowConstants<64> {
  static constexpr double third_hi = 0x1.5555555555555p-2, third_lo = 0x1.5555555555555p-56;
  static constexpr double two_log2e_hi = 0x1.71547652b82fep1, two_log2e_lo = 0x1.777d0ffda0d24p-55;
  // Relative error of atanh 2^-76.4.
  static constexpr double atanh_tail[] = {
      0x1.999999999999ap-3, 0x1.249249249238ap-3, 0x1.c71c71c73ed96p-4,
      0x1.745d173287457p-4, 0x1.3b13b7b7e84bdp-4, 0x1.110fb32950d85p-4,
      0x1.e23e8af9fa072p-5, 0x1.a7bbd06bfbb67p-5, 0x1.d8b67d1b532b2p-5};
  static constexpr double usual = 1021;
  static constexpr double limit = 1200;
};

// k + log2(1 + f), from 2 atanh(s) with s = f / (2 + f).
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Sum<F> log2_sum(F k, F f) {
  using T = PowConstants<F::width>;
  // s + s_lo; 1 / (2 + f) is (1 - s) / 2.
  const auto bottom = fast_two_sum(f.lit(2), f);
  const F s = f / bottom.hi;
  const F remainder = fma(-s, bottom.lo, fma(-s, bottom.hi, f));
  const F s_lo = remainder * fma(s, s.lit(-0.5), s.lit(0.5));
  // s^2, s^3, and s^3 / 3, each with its error.
  auto square = two_product(s, s);
  square.lo = fma(s + s, s_lo, square.lo);
  auto cube = two_product(s, square.hi);
  cube.lo = fma(s, square.lo, fma(s_lo, square.hi, cube.lo));
  const auto third = two_product(cube.hi, s.lit(T::third_hi));
  const F third_lo = fma(cube.lo, s.lit(T::third_hi), fma(cube.hi, s.lit(T::third_lo), third.lo));
  const F tail = cube.hi * square.hi * polynomial(square.hi, T::atanh_tail);
  const auto atanh = fast_two_sum(s, third.hi);
  const F atanh_lo = atanh.lo + (s_lo + (third_lo + tail));
  // Times 2 log2(e), plus k.
  const auto product = two_product(atanh.hi, s.lit(T::two_log2e_hi));
  const F product_lo =
      fma(atanh_lo, s.lit(T::two_log2e_hi), fma(atanh.hi, s.lit(T::two_log2e_lo), product.lo));
  const auto sum = fast_two_sum(k, product.hi);
  return fast_two_sum(sum.hi, sum.lo + product_lo);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F pow(F x, F y) {
  using T = PowConstants<F::width>;
  using E = ExpConstants<F::width>;
  using Fmt = Format<F::width>;
  const F zero = x.lit(0), one = x.lit(1), infinity = x.lit(kInfinity);
  const F a = abs(x);

  const auto normal = reduce_log(a);
  const auto [k, f] =
      rare(a < x.lit(Fmt::smallest_normal), std::tuple<F, F>(normal.k, normal.f), [&] {
        constexpr double kFactor = static_cast<double>(uint64_t{1} << Fmt::mantissa_bits);
        const auto scaled = reduce_log(a * x.lit(kFactor));
        return std::tuple<F, F>(scaled.k - x.lit(Fmt::mantissa_bits), scaled.f);
      });
  const auto log = log2_sum(k, f);
  const auto exponent = two_product(y, log.hi);
  const F exponent_lo = fma(y, log.lo, exponent.lo);

  // 2^(e + e_lo).
  const auto power = [&](F e, F e_lo) {
    const auto [n, place] = whole(e, 1);
    const auto g = two_sum(e - n, e_lo);
    const auto r = two_product(g.hi, x.lit(E::ln2_hi));
    const F c = fma(g.lo, x.lit(E::ln2_hi), fma(g.hi, x.lit(E::ln2_lo), r.lo));
    return std::tuple<F, F, F>(n, one + expm1_reduced(r.hi, c), place);
  };
  const auto [n, p, place] = power(exponent.hi, exponent_lo);
  const F magnitude = rare(!(abs(exponent.hi) < x.lit(T::usual)), scale(p, place), [&] {
    const F limit = x.lit(T::limit);
    const auto far = !(abs(exponent.hi) < limit);
    const F end = with_sign(limit, exponent.hi);
    const auto [m, q, at] = power(select(far, end, exponent.hi), select(far, zero, exponent_lo));
    return scale_far(q, m);
  });

  // A negative x: the sign of an odd power, and no result for a y that is not integral.
  const auto integral = trunc(y) == y;
  const F half = y * x.lit(0.5);
  const auto odd = integral & (trunc(half) != half);
  const auto negative = as_int(bits(x)) < x.int_lit(0);
  const F usual = select((x < zero) & (!integral), x.lit(kNaN), magnitude);

  const auto special = !((a > zero) & (a < infinity) & (abs(y) < infinity));
  const F signless = rare(special, usual, [&] {
    const auto large = a > one, up = y > zero;
    const auto grows = (large & up) | ((!large) & (!up));
    const F end = select(a == one, one, select(grows, infinity, zero));
    return select(is_nan(x) | is_nan(y), x + y, end);
  });
  const F signed_result = select(negative & odd, -signless, signless);
  return select((y == zero) | (x == one), one, signed_result);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F rsqrt(F x) {
  return x.lit(1) / sqrt(x);
}

HOLOGRAM_EXPANSIONS_END;
#endif
