// Argument reduction of the trigonometric functions: x = n pi/2 + r with |r| <= pi/4.
//
// Small angles: n times the three parts of pi/2, with fma (Boldo, Daumas and Li, "Formally verified
// argument reduction with a fused multiply-add", 2009). Large angles: the bits of 2/pi that matter,
// times the mantissa, in integers (Payne and Hanek, "Radian reduction for trigonometric functions",
// 1983).
#if defined(HOLOGRAM_EXPANSIONS_REDUCE_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_EXPANSIONS_REDUCE_HPP
#undef HOLOGRAM_EXPANSIONS_REDUCE_HPP
#else
#define HOLOGRAM_EXPANSIONS_REDUCE_HPP
#endif

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "program/expansions/common.hpp"

HOLOGRAM_EXPANSIONS_BEGIN

template <int width>
struct AngleConstants;

template <>
struct AngleConstants<32> {
  static constexpr double half_pi[] = {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50};
  static constexpr double large = 0x1p16;
  // 2/pi after a word of zeros: word i counts 2^(-32 i).
  static constexpr uint64_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                             0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  // The widths of the pieces in which the fraction becomes a float: low is the one of the last two.
  static constexpr int piece_high = 9, piece_low = 20;
};

template <>
struct AngleConstants<64> {
  static constexpr double half_pi[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                       -0x1.f1976b7ed8fbcp-110};
  static constexpr double large = 0x1p26;
  static constexpr uint64_t two_over_pi[] = {0,
                                             0xa2f9836e4e441529,
                                             0xfc2757d1f534ddc0,
                                             0xdb6295993c439041,
                                             0xfe5163abdebbc561,
                                             0xb7246e3a424dd2e0,
                                             0x6492eea09d1921c,
                                             0xfe1deb1cb129a73e,
                                             0xe88235f52ebb4484,
                                             0xe99c7026b45f7e41,
                                             0x3991d639835339f4,
                                             0x9c845f8bbdf9283b,
                                             0x1ff897ffde05980f,
                                             0xef2f118b5a0a6d1f,
                                             0x6d367ecf27cb09b7,
                                             0x4f463f669e5fea2d,
                                             0x7527bac7ebe5f17b,
                                             0x3d0739f78a5292ea,
                                             0x6bfb5fb11f8d5d08,
                                             0x56033046fc7b6bab};
  static constexpr int piece_high = 20, piece_low = 42;
};

// Words first, …, first + 3 of a table, where `first` differs from lane to lane: each of its bits,
// from the highest, halves what is left of the table.
template <int bit, class F, class U, size_t N>
HOLOGRAM_EXPANSIONS_INLINE std::array<U, 4> four_words(F x, U first,
                                                       const std::array<U, N>& table) {
  if constexpr (bit < 0) {
    return table;
  } else {
    constexpr size_t kStep = size_t{1} << bit;
    const auto upper = !((first & x.uint_lit(kStep)) == x.uint_lit(0));
    return [&]<size_t... I>(std::index_sequence<I...>) {
      const std::array<U, sizeof...(I)> rest = {
          select(upper, table[std::min(I + kStep, N - 1)], table[std::min(I, N - 1)])...};
      return four_words<bit - 1>(x, first, rest);
    }
    (std::make_index_sequence<4 + kStep - 1>());
  }
}

// x = quadrant pi/2 + hi + lo; the quadrant counts modulo 4.
template <class F>
using Angle = std::tuple<F, F, typename F::Int>;

// For |x| >= large. With |x| = m 2^e, bits of 2/pi that weigh more than 2^(2-e) contribute whole
// turns; three words from there give m |x| 2/pi modulo 4 with twice the width of F, of which two
// bits are the quadrant. No float comes nearer to a multiple of pi/2 than 2^-30 (no double than
// 2^-61).
template <class F>
inline Angle<F> reduce_large_angle(F x) {
  using T = AngleConstants<F::width>;
  using Fmt = Format<F::width>;
  using U = typename F::UInt;
  constexpr int w = F::width;
  constexpr int kIndexShift = w == 32 ? 5 : 6;
  const auto lit = [&](uint64_t c) { return x.uint_lit(c); };

  const U u = bits(abs(x));
  const U m =
      (u & lit((uint64_t{1} << Fmt::mantissa_bits) - 1)) | lit(uint64_t{1} << Fmt::mantissa_bits);
  const U skip = shift_right<Fmt::mantissa_bits>(u) - lit(Fmt::bias + Fmt::mantissa_bits + 2 - w);
  constexpr size_t kWords = std::size(T::two_over_pi);
  const std::array<U, kWords> table = [&]<size_t... I>(std::index_sequence<I...>) {
    return std::array<U, kWords>{lit(T::two_over_pi[I])...};
  }
  (std::make_index_sequence<kWords>());
  const std::array<U, 4> raw =
      four_words < w == 32 ? 2 : 4 > (x, shift_right<kIndexShift>(skip), table);
  const U shift = skip & lit(w - 1);
  const U back = lit(w - 1) - shift;
  const auto aligned = [&](int i) {
    return shift_left(raw[i], shift) | shift_right(shift_right<1>(raw[i + 1]), back);
  };
  const U w0 = aligned(0), w1 = aligned(1), w2 = aligned(2);

  // The upper two words of m (w0 w1 w2) modulo 2^(3w): the top two bits are the quadrant.
  const U low1 = m * w1;
  const U p1 = low1 + mulhi(m, w2);
  const U carry = select(p1 < low1, lit(1), lit(0));
  const U p0 = m * w0 + mulhi(m, w1) + carry;
  const U quadrant = shift_right<w - 2>(p0 + lit(uint64_t{1} << (w - 3)));

  // The rest is a signed fraction of a quadrant, in units of 2^(2-2w); its magnitude becomes three
  // exact pieces.
  const U high = p0 - shift_left<w - 2>(quadrant);
  const auto negative = as_int(high) < x.int_lit(0);
  const U borrow = select(p1 == lit(0), lit(0), lit(1));
  const U a0 = select(negative, lit(0) - high - borrow, high);
  const U a1 = select(negative, lit(0) - p1, p1);
  constexpr int h = T::piece_high, l = T::piece_low;
  const auto piece = [&](U value, double unit) { return to_float(as_int(value)) * x.lit(unit); };
  constexpr double kUnit = w == 32 ? 0x1p-62 : 0x1p-126;
  constexpr double kLow = static_cast<double>(uint64_t{1} << l);
  constexpr double kMiddle = static_cast<double>(uint64_t{1} << (w - l + h));
  const F top = piece(shift_right<h>(a0), kUnit * kLow * kMiddle);
  const F middle =
      piece(shift_left<w - l>(a0 & lit((uint64_t{1} << h) - 1)) | shift_right<l>(a1), kUnit * kLow);
  const F bottom = piece(a1 & lit((uint64_t{1} << l) - 1), kUnit);

  const auto sum = fast_two_sum(top, middle);
  const auto fraction = fast_two_sum(sum.hi, sum.lo + bottom);
  const auto product = two_product(fraction.hi, x.lit(T::half_pi[0]));
  const F rest =
      fma(fraction.lo, x.lit(T::half_pi[0]), fma(fraction.hi, x.lit(T::half_pi[1]), product.lo));
  const auto r = fast_two_sum(product.hi, rest);

  const auto reverse = x < x.lit(0);
  const F hi = flip_sign(select(negative, -r.hi, r.hi), x);
  const F lo = flip_sign(select(negative, -r.lo, r.lo), x);
  const auto q = as_int(quadrant);
  return {select(abs(x) < x.lit(kInfinity), hi, x.lit(kNaN)), lo,
          select(reverse, x.int_lit(0) - q, q)};
}

inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// With n next to x 2/pi, and its last bits. In the usual case x - n half_pi[0] is exact: both are
// multiples of an ulp of half_pi[0] or of x, and the difference is below 1.
template <class F>
HOLOGRAM_EXPANSIONS_INLINE Angle<F> reduce_angle(F x, F n, typename F::Int quadrant) {
  using T = AngleConstants<F::width>;
  const F first = fma(n, x.lit(-T::half_pi[0]), x);
  const auto second = two_product(n, x.lit(-T::half_pi[1]));
  const auto r = two_sum(first, second.hi);
  const F lo = r.lo + fma(n, x.lit(-T::half_pi[2]), second.lo);
  return rare(!(abs(x) < x.lit(T::large)), Angle<F>(r.hi, lo, quadrant),
              [&] { return reduce_large_angle(x); });
}

HOLOGRAM_EXPANSIONS_END;
#endif
