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
inline F polynomial(F x, const double (&c)[N]) {
  F y = x.lit(c[N - 1]);
  [&]<size_t... I>(std::index_sequence<I...>) { ((y = fma(y, x, x.lit(c[N - 2 - I]))), ...); }
  (std::make_index_sequence<N - 1>());
  return y;
}

template <class F>
inline auto is_nan(F x) {
  return x != x;
}

// The magnitude of one number (not negative) with the sign of another.
template <class F>
inline F with_sign(F magnitude, F sign) {
  return from_bits(bits(magnitude) | (bits(sign) & sign.uint_lit(Format<F::width>::sign)));
}

// x with its sign changed where `sign` is negative.
template <class F>
inline F flip_sign(F x, F sign) {
  return from_bits(bits(x) ^ (bits(sign) & sign.uint_lit(Format<F::width>::sign)));
}

// 2^n for an integral n within the normal range.
template <class F>
inline F power_of_two(F n) {
  using T = Format<F::width>;
  return from_bits(as_uint(shift_left<T::mantissa_bits>(to_int(n) + n.int_lit(T::bias))));
}

// An unevaluated sum hi + lo, |lo| at most half an ulp of hi.
template <class F>
struct Sum {
  F hi, lo;
};

// a + b without error (Knuth).
template <class F>
inline Sum<F> two_sum(F a, F b) {
  const F s = a + b;
  const F back = s - a;
  return {s, (a - (s - back)) + (b - back)};
}

// The same for |a| >= |b| or a = 0 (Dekker).
template <class F>
inline Sum<F> fast_two_sum(F a, F b) {
  const F s = a + b;
  return {s, b - (s - a)};
}

// a * b without error.
template <class F>
inline Sum<F> two_product(F a, F b) {
  const F p = a * b;
  return {p, fma(a, b, -p)};
}

HOLOGRAM_EXPANSIONS_END;
#endif
