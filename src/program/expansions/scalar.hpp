// The value type of value.hpp as plain numbers of the host: for constant folding and tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "program/expansions/value.hpp"

namespace hologram::program::expansions {

struct ScalarBool {
  bool value;
};

template <class T>  // an integer
struct ScalarInteger {
  T value;
};

template <class T>  // float or double
struct ScalarValue {
  static constexpr int width = 8 * sizeof(T);
  using Signed = std::conditional_t<width == 32, int32_t, int64_t>;
  using Unsigned = std::make_unsigned_t<Signed>;
  using Int = ScalarInteger<Signed>;
  using UInt = ScalarInteger<Unsigned>;
  using Bool = ScalarBool;

  T value;

  ScalarValue lit(double c) const { return {static_cast<T>(c)}; }
  Int int_lit(int64_t c) const { return {static_cast<Signed>(c)}; }
  UInt uint_lit(uint64_t c) const { return {static_cast<Unsigned>(c)}; }

  friend ScalarValue operator+(ScalarValue a, ScalarValue b) { return {a.value + b.value}; }
  friend ScalarValue operator-(ScalarValue a, ScalarValue b) { return {a.value - b.value}; }
  friend ScalarValue operator*(ScalarValue a, ScalarValue b) { return {a.value * b.value}; }
  friend ScalarValue operator/(ScalarValue a, ScalarValue b) { return {a.value / b.value}; }
  friend ScalarValue operator-(ScalarValue a) { return {-a.value}; }
  friend ScalarValue fma(ScalarValue a, ScalarValue b, ScalarValue c) {
    return {std::fma(a.value, b.value, c.value)};
  }
  friend ScalarValue sqrt(ScalarValue a) { return {std::sqrt(a.value)}; }
  friend ScalarValue abs(ScalarValue a) { return {std::fabs(a.value)}; }
  friend ScalarValue trunc(ScalarValue a) { return {std::trunc(a.value)}; }
  friend ScalarValue round(ScalarValue a) { return {std::nearbyint(a.value)}; }

  friend Bool operator<(ScalarValue a, ScalarValue b) { return {a.value < b.value}; }
  friend Bool operator>(ScalarValue a, ScalarValue b) { return {a.value > b.value}; }
  friend Bool operator<=(ScalarValue a, ScalarValue b) { return {a.value <= b.value}; }
  friend Bool operator>=(ScalarValue a, ScalarValue b) { return {a.value >= b.value}; }
  friend Bool operator==(ScalarValue a, ScalarValue b) { return {a.value == b.value}; }
  friend Bool operator!=(ScalarValue a, ScalarValue b) { return {a.value != b.value}; }

  friend UInt bits(ScalarValue a) { return {std::bit_cast<Unsigned>(a.value)}; }
  // Through double: the sum is exact whatever the rounding of T, and no input is undefined.
  friend Int to_int(ScalarValue a) {
    constexpr double anchor = 0x1.8p52;
    return {static_cast<Signed>(std::bit_cast<uint64_t>(static_cast<double>(a.value) + anchor) -
                                std::bit_cast<uint64_t>(anchor))};
  }
};

inline ScalarBool operator&(ScalarBool a, ScalarBool b) { return {a.value && b.value}; }
inline ScalarBool operator|(ScalarBool a, ScalarBool b) { return {a.value || b.value}; }
inline ScalarBool operator!(ScalarBool a) { return {!a.value}; }

inline ScalarValue<float> from_bits(ScalarInteger<uint32_t> a) {
  return {std::bit_cast<float>(a.value)};
}
inline ScalarValue<double> from_bits(ScalarInteger<uint64_t> a) {
  return {std::bit_cast<double>(a.value)};
}
inline ScalarValue<float> to_float(ScalarInteger<int32_t> a) {
  return {static_cast<float>(a.value)};
}
inline ScalarValue<double> to_float(ScalarInteger<int64_t> a) {
  return {static_cast<double>(a.value)};
}

template <class T>
ScalarInteger<std::make_signed_t<T>> as_int(ScalarInteger<T> a) {
  return {static_cast<std::make_signed_t<T>>(a.value)};
}
template <class T>
ScalarInteger<std::make_unsigned_t<T>> as_uint(ScalarInteger<T> a) {
  return {static_cast<std::make_unsigned_t<T>>(a.value)};
}

// Sums go through the unsigned type: they wrap.
template <class T>
ScalarInteger<T> operator+(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {static_cast<T>(as_uint(a).value + as_uint(b).value)};
}
template <class T>
ScalarInteger<T> operator-(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {static_cast<T>(as_uint(a).value - as_uint(b).value)};
}
template <class T>
ScalarInteger<T> operator*(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {wrapping_multiply(a.value, b.value)};
}
template <class T>
ScalarInteger<T> mulhi(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {multiply_high(a.value, b.value)};
}
template <class T>
ScalarInteger<T> operator&(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {static_cast<T>(a.value & b.value)};
}
template <class T>
ScalarInteger<T> operator|(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {static_cast<T>(a.value | b.value)};
}
template <class T>
ScalarInteger<T> operator^(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {static_cast<T>(a.value ^ b.value)};
}
template <int n, class T>
ScalarInteger<T> shift_left(ScalarInteger<T> a) {
  return {static_cast<T>(as_uint(a).value << n)};
}
template <int n, class T>
ScalarInteger<T> shift_right(ScalarInteger<T> a) {
  return {static_cast<T>(a.value >> n)};
}
template <class T>
ScalarInteger<T> shift_left(ScalarInteger<T> a, ScalarInteger<T> n) {
  return {static_cast<T>(a.value << n.value)};
}
template <class T>
ScalarInteger<T> shift_right(ScalarInteger<T> a, ScalarInteger<T> n) {
  return {static_cast<T>(a.value >> n.value)};
}
template <class T>
ScalarBool operator==(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {a.value == b.value};
}
template <class T>
ScalarBool operator<(ScalarInteger<T> a, ScalarInteger<T> b) {
  return {a.value < b.value};
}

template <class T>
T select(ScalarBool c, T a, T b) {
  return c.value ? a : b;
}

template <class T, class Fn>
T rare(ScalarBool c, T common, Fn fn) {
  return c.value ? fn() : common;
}

}  // namespace hologram::program::expansions
