// Floats whose exponent does not end: partial sums and products that overflow or underflow on the
// way to a result that does not. Without a wider type, which not every device has.
//
// A number is value * 2^(block * exponent). Scaling by a power of two commutes with rounding, so
// every sum and product below is rounded once, to the precision of the type. The same text serves
// numbers of the host (V is float or double) and values of a program (V is program::Value).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hologram/builder.hpp"

namespace hologram::program {

template <class V>
struct Extended {
  using Integer = std::conditional_t<std::is_same_v<V, Value>, Value, int32_t>;
  V value;
  Integer exponent;
};

namespace extended {

// Powers of two: a block of the exponent, up and down; below 1 / half and from half on a factor is
// brought nearer to 1, so that products of two neither overflow nor underflow.
template <class N>
struct Limits {
  N up, down, half, smallest;
  N least_scaled;  // a sum that is scaled down and below this is within the type's range
};
template <class N>
constexpr Limits<N> limits_of(bool wide) {
  if (wide)
    return {static_cast<N>(0x1p960), static_cast<N>(0x1p-960), static_cast<N>(0x1p480),
            static_cast<N>(0x1p-1022), static_cast<N>(0x1p64)};
  return {static_cast<N>(0x1p120), static_cast<N>(0x1p-120), static_cast<N>(0x1p60),
          static_cast<N>(0x1p-126), static_cast<N>(0x1p8)};
}
// More than any array reaches that fits in memory, but for one of nothing but denormals.
inline constexpr int32_t kMostExponent = 1 << 29;

template <class T>
T select(bool condition, T a, T b) {
  return condition ? a : b;
}
template <class T>
bool is_finite(T a) {
  return std::fabs(a) <= std::numeric_limits<T>::max();
}
template <class T>
T magnitude(T a) {
  return std::fabs(a);
}
inline int32_t clamp(int32_t a) { return std::clamp(a, -kMostExponent, kMostExponent); }
inline Value is_finite(Value a) { return apply(Op::IsFinite, {a}); }
inline Value magnitude(Value a) { return apply(Op::Abs, {a}); }
inline Value clamp(Value a) { return min(max(a, -kMostExponent), kMostExponent); }

template <class T>
constexpr Limits<T> limits(T /*like*/) {
  return limits_of<T>(sizeof(T) == 8);
}
inline Limits<double> limits(Value like) { return limits_of<double>(like.type() == DType::F64); }

// The same number, at most half a block from 1.
template <class V>
Extended<V> balanced(const Extended<V>& a) {
  const auto k = limits(a.value);
  const V size = magnitude(a.value);
  const auto large = size >= k.half, small = size < 1 / k.half;
  return {select(large, a.value * k.down, select(small, a.value * k.up, a.value)),
          select(large, a.exponent + 1, select(small, a.exponent - 1, a.exponent))};
}

}  // namespace extended

template <class V>
Extended<V> extended_sum(const Extended<V>& a, const Extended<V>& b) {
  using namespace extended;
  const auto k = limits(a.value);
  const V plain = a.value + b.value;
  const auto is_plain = (a.exponent == 0) & (b.exponent == 0) & is_finite(plain);
  // Sums have no other exponents than 0 and 1. What is lost of a term that becomes denormal is less
  // than a sum beyond the range of the type can hold.
  const V scaled = select(a.exponent == 0, a.value * k.down, a.value) +
                   select(b.exponent == 0, b.value * k.down, b.value);
  const auto fits = magnitude(scaled) < k.least_scaled;
  const auto zero = a.exponent - a.exponent;
  return {select(is_plain, plain, select(fits, scaled * k.up, scaled)),
          select(is_plain | fits, zero, zero + 1)};
}

template <class V>
Extended<V> extended_product(const Extended<V>& a, const Extended<V>& b) {
  using namespace extended;
  const Extended<V> x = balanced(a), y = balanced(b);
  return {x.value * y.value, clamp(x.exponent + y.exponent)};
}

// Rounded once into the range of the type: beyond two blocks everything is infinite, or 0.
template <class V>
V rounded(const Extended<V>& a) {
  using namespace extended;
  const auto k = limits(a.value);
  const Extended<V> x = balanced(a);
  const V once =
      select(x.exponent > 0, x.value * k.up, select(x.exponent < 0, x.value * k.down, x.value));
  return select(x.exponent > 1, once * k.up, select(x.exponent < -1, once * k.down, once));
}

// With the exponent 0 wherever plain arithmetic can go on from there: of products' partial results,
// normal numbers and 0. What is not finite has the exponent 0, too.
template <class V>
Extended<V> settled(const Extended<V>& a) {
  using namespace extended;
  const V plain = rounded(a);
  const auto is_finite_still = is_finite(plain);
  const auto is_normal = magnitude(plain) >= limits(plain).smallest;
  const auto is_zero = a.value == 0;
  const auto fits = is_finite_still & (is_normal | is_zero);
  const auto is_special = !is_finite(a.value);
  return {select(fits, plain, a.value),
          select(fits | is_special, a.exponent - a.exponent, a.exponent)};
}

}  // namespace hologram::program
