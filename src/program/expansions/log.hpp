// log, log2, log10, log1p.
//
// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f + f^2 P(f) needs no division.
// k log(2) is exact in its upper part and is added with its error, so that the sum is rounded once.
#if defined(HOLOGRAM_EXPANSIONS_LOG_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_LOG_HPP
#undef HOLOGRAM_EXPANSIONS_LOG_HPP
#else
#define HOLOGRAM_EXPANSIONS_LOG_HPP
#endif

#include <type_traits>

#include "program/expansions/common.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct LogConstants;

template <>
struct LogConstants<32> {
  static constexpr uint64_t sqrt_half = 0x3f3504f3;  // its bits
  static constexpr uint64_t smallest_normal = 0x00800000, infinity = 0x7f800000;
  // (log1p(f) - f) / f^2 on [sqrt(1/2)-1, sqrt(2)-1]; relative error of log1p 2^-30.1.
  static constexpr double tail[] = {-0x1p-1,        0x1.555546p-2, -0x1p-2,        0x1.99a546p-3,
                                    -0x1.555f0cp-3, 0x1.232fdep-3, -0x1.fbc406p-4, 0x1.e6f812p-4,
                                    -0x1.e03bf4p-4, 0x1.16a016p-4};
};

template <>
struct LogConstants<64> {
  static constexpr uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr uint64_t smallest_normal = 0x0010000000000000, infinity = 0x7ff0000000000000;
  // Relative error of log1p 2^-58.8.
  static constexpr double tail[] = {-0x1p-1,
                                    0x1.5555555555574p-2,
                                    -0x1.ffffffffffebcp-3,
                                    0x1.9999999993b0ap-3,
                                    -0x1.5555555566c5ep-3,
                                    0x1.24924927cd0a9p-3,
                                    -0x1.fffffff734e98p-4,
                                    0x1.c71c7004f7628p-4,
                                    -0x1.999999e1f4893p-4,
                                    0x1.745d5ce525f8dp-4,
                                    -0x1.55558d7892abdp-4,
                                    0x1.3b0d43d336d1fp-4,
                                    -0x1.2487b28c8844ep-4,
                                    0x1.116ac93bd4e8p-4,
                                    -0x1.00e039b125c75p-4,
                                    0x1.dcaf8f0efd088p-5,
                                    -0x1.b3aeabcbb70c7p-5,
                                    0x1.ba813dff430bdp-5,
                                    -0x1.01939f816978ep-4,
                                    0x1.d6a648f304b79p-5,
                                    -0x1.92e72efaf5652p-6};
};

// The logarithm of 2 and of e in some base. two_hi has so few bits that k two_hi is exact.
struct Log10Base {
  template <int width>
  struct Of;
};
template <>
struct Log10Base::Of<32> {
  static constexpr double two_hi = 0x1.3442p-2, two_lo = -0x1.95ec1p-19;
  static constexpr double e_hi = 0x1.bcb7b2p-2, e_lo = -0x1.5b235ep-27;
};
template <>
struct Log10Base::Of<64> {
  static constexpr double two_hi = 0x1.34413509f8p-2, two_lo = -0x1.80433b83b532ap-44;
  static constexpr double e_hi = 0x1.bcb7b1526e50ep-2, e_lo = 0x1.95355baaafad3p-57;
};
struct Log2Base {
  template <int width>
  struct Of;
};
template <>
struct Log2Base::Of<32> {
  static constexpr double two_hi = 1, two_lo = 0;
  static constexpr double e_hi = 0x1.715476p0, e_lo = 0x1.4ae0cp-26;
};
template <>
struct Log2Base::Of<64> {
  static constexpr double two_hi = 1, two_lo = 0;
  static constexpr double e_hi = 0x1.71547652b82fep0, e_lo = 0x1.777d0ffda0d24p-56;
};
struct NaturalBase {
  template <int width>
  struct Of;
};
template <>
struct NaturalBase::Of<32> {
  static constexpr double two_hi = 0x1.62e4p-1, two_lo = 0x1.7f7d1cp-20;
};
template <>
struct NaturalBase::Of<64> {
  static constexpr double two_hi = 0x1.62e42fefa4p-1, two_lo = -0x1.8432a1b0e2634p-43;
};

template <class F>
struct LogArgument {
  F k, f;
};
// For positive normal x.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE LogArgument<F> reduce_log(F x) {
  using T = LogConstants<F::width>;
  constexpr int kBits = Format<F::width>::mantissa_bits;
  const auto base = x.uint_lit(T::sqrt_half);
  const auto u = bits(x) - base;
  const auto fraction = u & x.uint_lit((uint64_t{1} << kBits) - 1);
  return {to_float(shift_right<kBits>(as_int(u))), from_bits(fraction + base) - x.lit(1)};
}

// log(1 + f) - f.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F log_tail(F f) {
  return f * f * polynomial(f, LogConstants<F::width>::tail);
}

// k log(2) + f + tail in the base.
template <class Base, class F>
HOLOGRAM_EXPANSIONS_INLINE F log_sum(F k, F f, F tail) {
  using B = typename Base::template Of<F::width>;
  const F whole = k * k.lit(B::two_hi);
  if constexpr (std::is_same_v<Base, NaturalBase>) {
    const auto sum = fast_two_sum(whole, f);
    return sum.hi + (sum.lo + fma(k, k.lit(B::two_lo), tail));
  } else {
    const auto first = two_product(f, k.lit(B::e_hi));
    const auto sum = fast_two_sum(whole, first.hi);
    const F rest = fma(tail, k.lit(B::e_hi), fma(f, k.lit(B::e_lo), first.lo));
    if constexpr (B::two_lo == 0) return sum.hi + (sum.lo + rest);
    return sum.hi + (sum.lo + fma(k, k.lit(B::two_lo), rest));
  }
}

template <class Base, class F>
HOLOGRAM_EXPANSIONS_INLINE F log_in_base(F x) {
  using T = LogConstants<F::width>;
  const auto smallest = x.uint_lit(T::smallest_normal);
  const auto usual = bits(x) - smallest < x.uint_lit(T::infinity - T::smallest_normal);
  const auto a = reduce_log(x);
  return rare(!usual, log_sum<Base>(a.k, a.f, log_tail(a.f)), [&] {
    constexpr double kShift = Format<F::width>::mantissa_bits + 1;
    constexpr double kFactor = static_cast<double>(uint64_t{1} << static_cast<int>(kShift));
    const auto denormal = reduce_log(x * x.lit(kFactor));
    F y = log_sum<Base>(denormal.k - x.lit(kShift), denormal.f, log_tail(denormal.f));
    y = select(x == x.lit(0), x.lit(-kInfinity), y);
    y = select(x < x.lit(0), x.lit(kNaN), y);
    return select(is_nan(x) | (x == x.lit(kInfinity)), x, y);
  });
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE F log(F x) {
  return log_in_base<NaturalBase>(x);
}
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F log2(F x) {
  return log_in_base<Log2Base>(x);
}
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F log10(F x) {
  return log_in_base<Log10Base>(x);
}

// 1 + x = u + e exactly. For 1 + x near 1, f is x itself; elsewhere e / u is a correction of less
// than an ulp, and 2^-k is near enough to 1 / u.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F log1p(F x) {
  using T = Format<F::width>;
  const F zero = x.lit(0);
  const auto u = two_sum(x.lit(1), x);
  const auto usual = (x > x.lit(-1)) & (x < x.lit(0x1p60));
  const auto a = reduce_log(u.hi);
  const auto near_one = a.k == zero;
  const auto inverse = shift_left<T::mantissa_bits>(x.int_lit(T::bias) - to_int(a.k));
  const F lo = select(near_one, zero, u.lo * from_bits(as_uint(inverse)));
  const F f = select(near_one, x, a.f);
  const F common = log_sum<NaturalBase>(a.k, f, log_tail(f) + lo);
  const F y =
      rare(!usual, common, [&] { return select(x == x.lit(-1), x.lit(-kInfinity), log(x)); });
  return select(x == zero, x, y);
}

HOLOGRAM_EXPANSIONS_END;
#endif
