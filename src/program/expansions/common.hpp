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

// The coefficients from c[first] on, every second one, of a polynomial in x^2.
template <size_t first, class F, size_t N, size_t... I>
HOLOGRAM_EXPANSIONS_INLINE F every_second(F square, const double (&c)[N],
                                          std::index_sequence<I...>) {
  constexpr size_t kLast = N - 1 - (N - 1 - first) % 2;
  F y = square.lit(c[kLast]);
  ((y = fma(y, square, square.lit(c[kLast - 2 - 2 * I]))), ...);
  return y;
}

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

// The same; a long one as an even and an odd half, which do not wait for each other. Not where the
// halves would cancel: signs that alternate for x up to 1.
template <class F, size_t N>
HOLOGRAM_EXPANSIONS_INLINE F polynomial(F x, const double (&c)[N]) {
  if constexpr (N < 11) {
    return horner(x, c);
  } else {
    const F square = x * x;
    const F even = every_second<0>(square, c, std::make_index_sequence<(N + 1) / 2 - 1>());
    const F odd = every_second<1>(square, c, std::make_index_sequence<N / 2 - 1>());
    return fma(odd, x, even);
  }
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

// n + bias at the place of an exponent, for an integral n within twice its range. The last bit of
// the anchor has the weight 1; all others are shifted out.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE auto in_exponent(F n, int bias) {
  constexpr int kBits = Format<F::width>::mantissa_bits;
  constexpr double kAnchor = 1.5 * static_cast<double>(uint64_t{1} << kBits);
  return shift_left<kBits>(bits(n + n.lit(kAnchor + bias)));
}

// 2^n for an integral n within the normal range.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE F power_of_two(F n) {
  using T = Format<F::width>;
  return from_bits(in_exponent(n, T::bias));
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
