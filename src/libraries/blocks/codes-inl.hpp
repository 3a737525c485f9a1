// The codes of numbers in blocks, four to a word, to be multiplied with bytes: written once over an
// arithmetic of lanes that each have a row, which emits instructions or is a processor's. Included
// once for each instruction set, in a namespace of its own, so it has no guard.
//
// `B` has Bits, a word in each lane, and Real, an f32 in each; C and k are constants:
//   word(k)                      word k of the block, as Layout has them
//   shl(a, k), shr(a, k), masked(a, C), joined(a, b), times(a, C)     of Bits
//   half(a), real(a), sbyte(a)   the f16 in the lower half; the small number; the i8 in the top
//   byte exponent(a)                  2^(a - 128), as MXFP4's scales are stored product(a, b),
//   less(a, C)    of Real lookup(a, table)             one of 16 signed bytes for each byte, which
//   is less than 16 put(k, codes)                multiplies elements 4k to 4k + 3: codes from 0 to
//   127, put_signed(k, codes)         or of either sign
// and what ends a group, which is block `n` of 32 elements or one of its halves:
//   add(n, part, scale, C)       what was put, less C times the sum of x, times the scale
//   add_signed(n, part, scale)   the same of signed codes
//   add_with(n, part, scale, offset)   what was put times the scale, and the sum of x times offset

inline constexpr uint32_t kFours = 0x0f0f0f0f, kTwos = 0x03030303, kOnes = 0x01010101;

// Four bits each, the lower ones of the first half.
template <class B>
HOLOGRAM_LANES void put_nibbles(B& b, uint32_t first) {
  HOLOGRAM_UNROLL
  for (uint32_t k = 0; k < 4; k++) {
    const auto w = b.word(first + k);
    b.put(k, b.masked(w, kFours));
    b.put(k + 4, b.masked(b.shr(w, 4), kFours));
  }
}
template <class B>
HOLOGRAM_LANES void codes_of_q4_0(B& b) {
  put_nibbles(b, 1);
  b.add(0, Part::Whole, b.half(b.word(0)), 8);
}
template <class B>
HOLOGRAM_LANES void codes_of_q4_1(B& b) {
  put_nibbles(b, 1);
  const auto both = b.word(0);
  b.add_with(0, Part::Whole, b.half(both), b.half(b.shr(both, 16)));
}

// The fifth bits are those of one word: four of them go to four bytes by a product.
template <class B>
HOLOGRAM_LANES void put_fives(B& b) {
  const auto high = b.word(1);
  HOLOGRAM_UNROLL
  for (uint32_t k = 0; k < 4; k++) {
    const auto w = b.word(2 + k);
    const auto of_first = b.times(b.masked(b.shr(high, 4 * k), 15), 0x02040810);
    const auto of_second = b.times(b.masked(b.shr(high, 16 + 4 * k), 15), 0x02040810);
    b.put(k, b.joined(b.masked(w, kFours), b.masked(of_first, kOnes << 4)));
    b.put(k + 4, b.joined(b.masked(b.shr(w, 4), kFours), b.masked(of_second, kOnes << 4)));
  }
}
template <class B>
HOLOGRAM_LANES void codes_of_q5_0(B& b) {
  put_fives(b);
  b.add(0, Part::Whole, b.half(b.word(0)), 16);
}
template <class B>
HOLOGRAM_LANES void codes_of_q5_1(B& b) {
  put_fives(b);
  const auto both = b.word(0);
  b.add_with(0, Part::Whole, b.half(both), b.half(b.shr(both, 16)));
}

template <class B>
HOLOGRAM_LANES void codes_of_q8_0(B& b) {
  HOLOGRAM_UNROLL
  for (uint32_t k = 0; k < 8; k++) b.put_signed(k, b.word(1 + k));
  b.add_signed(0, Part::Whole, b.half(b.word(0)));
}

template <class B>
HOLOGRAM_LANES void codes_of_q2_k(B& b) {
  const auto both = b.word(20);
  const auto d = b.half(both), m = b.half(b.shr(both, 16));
  for (uint32_t n = 0; n < 8; n++) {
    const auto scales = b.shr(b.word(n / 2), n % 2 * 16);
    HOLOGRAM_UNROLL
    for (uint32_t h = 0; h < 2; h++) {
      HOLOGRAM_UNROLL
      for (uint32_t l = 0; l < 4; l++) {
        const auto w = b.word(4 + n / 4 * 8 + h * 4 + l);
        b.put(n * 8 + h * 4 + l, b.masked(b.shr(w, n % 4 * 2), kTwos));
      }
      const auto scale = b.product(d, b.real(b.masked(b.shr(scales, h * 8), 15)));
      const auto least = b.product(m, b.real(b.masked(b.shr(scales, h * 8 + 4), 15)));
      b.add_with(n, h == 0 ? Part::First : Part::Second, scale, b.less(b.zero(), least));
    }
  }
}

template <class B>
HOLOGRAM_LANES void codes_of_q3_k(B& b) {
  const auto d = b.half(b.word(27));
  for (uint32_t n = 0; n < 8; n++) {
    HOLOGRAM_UNROLL
    for (uint32_t h = 0; h < 2; h++) {
      HOLOGRAM_UNROLL
      for (uint32_t l = 0; l < 4; l++) {
        const auto w = b.masked(b.shr(b.word(8 + n / 4 * 8 + h * 4 + l), n % 4 * 2), kTwos);
        const auto third = b.masked(b.shr(b.word(h * 4 + l), n), kOnes);
        b.put(n * 8 + h * 4 + l, b.joined(w, b.shl(third, 2)));
      }
      const uint32_t part = n * 2 + h;
      const auto low = b.masked(b.shr(b.word(24 + part % 8 / 4), part % 4 * 8 + part / 8 * 4), 15);
      const auto high = b.masked(b.shr(b.word(26), part % 4 * 8 + part / 4 * 2), 3);
      const auto scale = b.product(d, b.less(b.real(b.joined(low, b.shl(high, 4))), b.number(32)));
      b.add(n, h == 0 ? Part::First : Part::Second, scale, 4);
    }
  }
}

// The scale and the least number of block n of eight, six bits each in three words.
template <class B>
struct SixBits {
  typename B::Bits scale, least;
};
template <class B>
HOLOGRAM_LANES SixBits<B> six_bits(B& b, uint32_t n) {
  const uint32_t shift = n % 4 * 8;
  if (n < 4) return {b.masked(b.shr(b.word(1), shift), 63), b.masked(b.shr(b.word(2), shift), 63)};
  const auto low = b.word(3);
  return {
      b.joined(b.masked(b.shr(low, shift), 15), b.shl(b.masked(b.shr(b.word(1), shift + 6), 3), 4)),
      b.joined(b.masked(b.shr(low, shift + 4), 15),
               b.shl(b.masked(b.shr(b.word(2), shift + 6), 3), 4))};
}
template <class B, class Real>
HOLOGRAM_LANES void add_six_bits(B& b, uint32_t n, const Real& d, const Real& m) {
  const auto six = six_bits(b, n);
  b.add_with(n, Part::Whole, b.product(d, b.real(six.scale)),
             b.less(b.zero(), b.product(m, b.real(six.least))));
}
template <class B>
HOLOGRAM_LANES void codes_of_q4_k(B& b) {
  const auto both = b.word(0);
  const auto d = b.half(both), m = b.half(b.shr(both, 16));
  for (uint32_t n = 0; n < 8; n++) {
    HOLOGRAM_UNROLL
    for (uint32_t l = 0; l < 8; l++)
      b.put(n * 8 + l, b.masked(b.shr(b.word(4 + n / 2 * 8 + l), n % 2 * 4), kFours));
    add_six_bits(b, n, d, m);
  }
}
template <class B>
HOLOGRAM_LANES void codes_of_q5_k(B& b) {
  const auto both = b.word(0);
  const auto d = b.half(both), m = b.half(b.shr(both, 16));
  for (uint32_t n = 0; n < 8; n++) {
    HOLOGRAM_UNROLL
    for (uint32_t l = 0; l < 8; l++) {
      const auto low = b.masked(b.shr(b.word(12 + n / 2 * 8 + l), n % 2 * 4), kFours);
      const auto fifth = b.masked(b.shr(b.word(4 + l), n), kOnes);
      b.put(n * 8 + l, b.joined(low, b.shl(fifth, 4)));
    }
    add_six_bits(b, n, d, m);
  }
}

template <class B>
HOLOGRAM_LANES void codes_of_q6_k(B& b) {
  const auto d = b.half(b.word(52));
  for (uint32_t n = 0; n < 8; n++) {
    const uint32_t half = n / 4, quarter = n % 4;
    HOLOGRAM_UNROLL
    for (uint32_t h = 0; h < 2; h++) {
      HOLOGRAM_UNROLL
      for (uint32_t l = 0; l < 4; l++) {
        const auto low = b.shr(b.word(half * 16 + quarter % 2 * 8 + h * 4 + l), quarter / 2 * 4);
        const auto high = b.masked(b.shr(b.word(32 + half * 8 + h * 4 + l), quarter * 2), kTwos);
        b.put(n * 8 + h * 4 + l, b.joined(b.masked(low, kFours), b.shl(high, 4)));
      }
      const auto scale = b.shl(b.word(48 + n / 2), 24 - (n % 2 * 2 + h) * 8);
      b.add(n, h == 0 ? Part::First : Part::Second, b.product(d, b.sbyte(scale)), 32);
    }
  }
}

// Codes that are places in a table.
template <class B>
HOLOGRAM_LANES void put_places(B& b, uint32_t n, uint32_t first, const Codes& table) {
  HOLOGRAM_UNROLL
  for (uint32_t k = 0; k < 4; k++) {
    const auto w = b.word(first + k);
    b.put_signed(n * 8 + k, b.lookup(b.masked(w, kFours), table));
    b.put_signed(n * 8 + k + 4, b.lookup(b.masked(b.shr(w, 4), kFours), table));
  }
}
template <class B>
HOLOGRAM_LANES void codes_of_iq4_nl(B& b) {
  put_places(b, 0, 1, kNonLinear);
  b.add_signed(0, Part::Whole, b.half(b.word(0)));
}
template <class B>
HOLOGRAM_LANES void codes_of_iq4_xs(B& b) {
  const auto both = b.word(0), lows = b.word(1);
  const auto d = b.half(both);
  for (uint32_t n = 0; n < 8; n++) {
    put_places(b, n, 2 + n * 4, kNonLinear);
    const auto low = b.masked(b.shr(lows, n * 4), 15);
    const auto high = b.masked(b.shr(both, 16 + n * 2), 3);
    const auto scale = b.product(d, b.less(b.real(b.joined(low, b.shl(high, 4))), b.number(32)));
    b.add_signed(n, Part::Whole, scale);
  }
}
template <class B>
HOLOGRAM_LANES void codes_of_mxfp4(B& b) {
  put_places(b, 0, 1, kFp4);
  b.add_signed(0, Part::Whole, b.exponent(b.masked(b.word(0), 255)));
}

// By the names of layout.hpp.
// clang-format off
#define HOLOGRAM_FOR_BLOCK_TYPES(X) \
  X("Q4_0", codes_of_q4_0)          \
  X("Q4_1", codes_of_q4_1)          \
  X("Q5_0", codes_of_q5_0)          \
  X("Q5_1", codes_of_q5_1)          \
  X("Q8_0", codes_of_q8_0)          \
  X("Q2_K", codes_of_q2_k)          \
  X("Q3_K", codes_of_q3_k)          \
  X("Q4_K", codes_of_q4_k)          \
  X("Q5_K", codes_of_q5_k)          \
  X("Q6_K", codes_of_q6_k)          \
  X("IQ4_NL", codes_of_iq4_nl)      \
  X("IQ4_XS", codes_of_iq4_xs)      \
  X("MXFP4", codes_of_mxfp4)
// clang-format on
