// Small parts that the expansions share.
#if defined(HOLOGRAM_EXPANSIONS_COMMON_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_COMMON_HPP
#undef HOLOGRAM_EXPANSIONS_COMMON_HPP
#else
#define HOLOGRAM_EXPANSIONS_COMMON_HPP
#endif

#include <cstddef>
#include <tuple>
#include <utility>

#include "program/expansions/value.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

// c[0] + c[1] x + c[2] x^2 + …, by Horner's rule.
template <class F, size_t N>
HOLOGRAM_EXPANSIONS_INLINE F horner(F x, const double (&c)[N]) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    F y = x.lit(c[N - 1]);
    ((y = fma(y, x, x.lit(c[N - 2 - I]))), ...);
    return y;
  }
  (std::make_index_sequence<N - 1>());
}

// The same as c[0] + c[1] x + x^2 (c[2] + c[3] x + x^2 (…)): half as many operations wait for each
// other (Estrin, "Organization of computer systems: the fixed plus variable structure computer",
// 1960).
template <class F, size_t N>
HOLOGRAM_EXPANSIONS_INLINE F pairs(F x, F square, const double (&c)[N]) {
  const auto pair = [&]<size_t at>(std::integral_constant<size_t, at>) {
    if constexpr (at + 1 < N) return fma(x, x.lit(c[at + 1]), x.lit(c[at]));
    else return x.lit(c[at]);
  };
  constexpr size_t kLast = (N - 1) / 2;
  return [&]<size_t... I>(std::index_sequence<I...>) {
    F y = pair(std::integral_constant<size_t, 2 * kLast>());
    ((y = fma(y, square, pair(std::integral_constant<size_t, 2 * (kLast - 1 - I)>()))), ...);
    return y;
  }
  (std::make_index_sequence<kLast>());
}

// Short ones by Horner's rule, which needs no square.
inline constexpr size_t kLeastPairs = 6;
template <class F, size_t N>
HOLOGRAM_EXPANSIONS_INLINE F polynomial(F x, const double (&c)[N]) {
  if constexpr (N < kLeastPairs) return horner(x, c);
  else return pairs(x, x * x, c);
}

template <class F>
HOLOGRAM_EXPANSIONS_INLINE auto is_nan(F x) {
  return x != x;  // NOLINT(misc-redundant-expression): only NaN differs from itself
}

// The magnitude of one number (not negative) with the sign of another.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F with_sign(F magnitude, F sign) {
  return from_bits(bits(magnitude) | (bits(sign) & sign.uint_lit(Format<F::width>::sign)));
}

// x with its sign changed where `sign` is negative.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F flip_sign(F x, F sign) {
  return from_bits(bits(x) ^ (bits(sign) & sign.uint_lit(Format<F::width>::sign)));
}

// What is added to this is rounded to a whole number, in the last bits of the sum.
template <int width>
constexpr double anchor(int bias) {
  return 1.5 * static_cast<double>(uint64_t{1} << Format<width>::mantissa_bits) + bias;
}

// x c rounded to a whole number, half to even, of two bits less than a mantissa has; n + bias are
// the last bits of `place`.
template <class F>
struct Whole {
  F n, place;
};
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Whole<F> whole(F x, double c, int bias = 0) {
  const F from = x.lit(anchor<F::width>(bias)), place = fma(x, x.lit(c), from);
  return {place - from, place};
}

// The last bits of `place` as those of an exponent: all others are shifted out.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE auto as_exponent(F place) {
  return shift_left<Format<F::width>::mantissa_bits>(bits(place));
}

// 2^n within the normal range, with n and the bias of exponents in the last bits of `place`; and
// for an integral n.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F power_at(F place) {
  return from_bits(as_exponent(place));
}
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F power_of_two(F n) {
  return power_at(n + n.lit(anchor<F::width>(Format<F::width>::bias)));
}

// An unevaluated sum hi + lo, |lo| at most half an ulp of hi.
template <class F>
struct Sum {
  F hi, lo;
};

// a + b without error (Knuth).
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Sum<F> two_sum(F a, F b) {
  const F s = a + b;
  const F back = s - a;
  return {s, (a - (s - back)) + (b - back)};
}

// The same for |a| >= |b| or a = 0 (Dekker).
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Sum<F> fast_two_sum(F a, F b) {
  const F s = a + b;
  return {s, b - (s - a)};
}

// a * b without error.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Sum<F> two_product(F a, F b) {
  const F p = a * b;
  return {p, fma(a, b, -p)};
}

HOLOGRAM_EXPANSIONS_END;
#endif
