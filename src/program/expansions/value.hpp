// The value type that the expansions of transcendental functions are written over, and what they
// share.
//
// An expansion is a template over a floating-point value F and is instantiated three ways: with
// ScalarValue (scalar.hpp), a number of the host; with VectorValue (interp/vector-inl.hpp), the
// lanes of a vector register; and with BuilderValue (expand.cpp), a value of an Atlas program. All
// of them compute the same bits because every operation below is exact or correctly rounded.
//
//   F::width                     32 or 64
//   F::Int, F::UInt, F::Bool     the signed and unsigned integers of that width, and a truth value
//   x.lit(0.5)                   a constant of type F, rounded from a double
//   x.int_lit(1), x.uint_lit(1)  a constant of type Int, of type UInt
//   + - * /  unary -             on F
//   fma(a, b, c)                 rounded once
//   sqrt(x), abs(x), trunc(x)
//   round(x)                     to an integral F, half to even
//   < > <= >= == !=              on F, giving Bool; false for NaN but for !=
//   & | !                        on Bool
//   select(bool, a, b)           for F, Int and UInt
//   bits(x), from_bits(u)        F to UInt and back
//   as_int(u), as_uint(i)
//   to_int(x), to_float(i)       for integral |x|, |i| <= 2^22 (2^51 in 64 bits); beyond that the
//                                result is unspecified, and must not be used
//   + - & | ^                    on Int and UInt, wrapping
//   shift_left<n>(i), shift_right<n>(i)   by a constant, 0 <= n < width; arithmetic for Int
//   shift_left(u, n), shift_right(u, n)   on UInt by a UInt less than width
//   ==, <                        on Int and UInt
//   u * v, mulhi(u, v)           the lower and the upper half of a product of two UInt
//   rare(bool, common, fn)       the value of fn() where bool holds, else common, for a value or a
//                                std::tuple of values. The slow paths (huge angles, denormals,
//                                overflow) stand in it: they are skipped if no lane needs them. It
//                                is a choice and not a hint: it must not change any bit.
//
// Constants come through a value because an Atlas value knows its builder.
//
// The headers of expansions compile once for each instruction set that Highway targets, between
// HOLOGRAM_EXPANSIONS_BEGIN and _END, or once if Highway is not included.
#pragma once

#include <cstdint>
#include <limits>

#ifdef HWY_NAMESPACE
#define HOLOGRAM_EXPANSIONS_BEGIN \
  HWY_BEFORE_NAMESPACE();         \
  namespace hologram::program::expansions::HWY_NAMESPACE {
#define HOLOGRAM_EXPANSIONS_INLINE HWY_INLINE
#define HOLOGRAM_EXPANSIONS_END \
  }                             \
  HWY_AFTER_NAMESPACE();        \
  static_assert(true)
#else
#define HOLOGRAM_EXPANSIONS_INLINE inline
#define HOLOGRAM_EXPANSIONS_BEGIN namespace hologram::program::expansions::portable {
#define HOLOGRAM_EXPANSIONS_END \
  }                             \
  static_assert(true)
#endif

namespace hologram::program::expansions {

// What differs between the formats besides the coefficients.
template <int width>
struct Format;

template <>
struct Format<32> {
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr double smallest_normal = 0x1p-126;
  static constexpr double largest = 0x1.fffffep127;
  static constexpr uint64_t sign = 0x80000000;
};

template <>
struct Format<64> {
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double smallest_normal = 0x1p-1022;
  static constexpr double largest = 0x1.fffffffffffffp1023;
  static constexpr uint64_t sign = 0x8000000000000000;
};

// Declared so that shift_left<3>(x) is read as a template; the one meant is found beside x's type.
struct NoValue;
template <int n>
void shift_left(NoValue);
template <int n>
void shift_right(NoValue);

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>  // uint32_t or uint64_t
constexpr T wrapping_multiply(T a, T b) {
  return a * b;
}

template <class T>
constexpr T multiply_high(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(static_cast<uint64_t>(a) * b >> 32);
  } else {
    // By halves: not every compiler has 128-bit integers.
    const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other = a0 * b1 + (middle & 0xffffffff);
    return a1 * b1 + (middle >> 32) + (other >> 32);
  }
}

}  // namespace hologram::program::expansions
