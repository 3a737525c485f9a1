// What the transcendental functions ought to return, in wider arithmetic of the C library, and how
// far a result is from it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <type_traits>

#include "hologram/op.hpp"

namespace hologram::test {

struct Function {
  std::string_view name;
  program::Op op;
  double (*wide)(double);              // for f32; null for functions of two operands
  long double (*widest)(long double);  // for f64
  double (*wide2)(double, double);
  long double (*widest2)(long double, long double);
  double bound32, bound64;  // ULP
};

template <class T>
T rsqrt_oracle(T x) {
  return 1 / std::sqrt(x);
}
template <class T>
T sigmoid_oracle(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

using program::Op;
#define UNARY(name, id, function, bound32, bound64)                                          \
  {                                                                                          \
    name, Op::id, [](double x) -> double { return function(x); },                            \
        [](long double x) -> long double { return function(x); }, nullptr, nullptr, bound32, \
        bound64                                                                              \
  }
#define BINARY(name, id, function, bound32, bound64)                                             \
  {                                                                                              \
    name, Op::id, nullptr, nullptr, [](double x, double y) -> double { return function(x, y); }, \
        [](long double x, long double y) -> long double { return function(x, y); }, bound32,     \
        bound64                                                                                  \
  }
inline constexpr Function kFunctions[] = {
    UNARY("exp", Exp, std::exp, 1, 2),         UNARY("exp2", Exp2, std::exp2, 2, 2),
    UNARY("expm1", Expm1, std::expm1, 2, 2),   UNARY("log", Log, std::log, 1, 2),
    UNARY("log2", Log2, std::log2, 2, 2),      UNARY("log10", Log10, std::log10, 2, 2),
    UNARY("log1p", Log1p, std::log1p, 2, 2),   UNARY("sin", Sin, std::sin, 2, 2),
    UNARY("cos", Cos, std::cos, 2, 2),         UNARY("tan", Tan, std::tan, 2, 2),
    UNARY("asin", Asin, std::asin, 2, 2),      UNARY("acos", Acos, std::acos, 2, 2),
    UNARY("atan", Atan, std::atan, 2, 2),      BINARY("atan2", Atan2, std::atan2, 2, 2),
    UNARY("sinh", Sinh, std::sinh, 2, 2),      UNARY("cosh", Cosh, std::cosh, 2, 2),
    UNARY("tanh", Tanh, std::tanh, 2, 2),      UNARY("sigmoid", Sigmoid, sigmoid_oracle, 2, 2),
    UNARY("erf", Erf, std::erf, 2, 2),         BINARY("pow", Pow, std::pow, 2, 2),
    UNARY("rsqrt", Rsqrt, rsqrt_oracle, 2, 2),
};
#undef UNARY
#undef BINARY

// |result - exact| in units in the last place of the exact value rounded to T; those of denormals
// and of zero are the smallest denormal, those of infinity those of the largest number. Infinite if
// only one is NaN, or an infinite result is not explained by rounding.
template <class T, class Wide>
double ulp_error(T result, Wide exact) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kInfinite = 2 * std::numeric_limits<T>::max_exponent - 1;  // exponent field
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  const T rounded = static_cast<T>(exact);
  const int field = static_cast<int>(std::bit_cast<Bits>(std::fabs(rounded)) >> kMantissa);
  if (field == kInfinite || !(std::fabs(result) <= std::numeric_limits<T>::max())) {
    if (std::isnan(result) || std::isnan(exact))
      return std::isnan(result) && std::isnan(exact) ? 0 : INFINITY;
    if (result == rounded) return 0;
    if (std::isinf(exact)) return INFINITY;
  }
  const Wide value = std::isinf(result)
                         ? std::copysign(std::ldexp(Wide{1}, kBias + 1), static_cast<Wide>(result))
                         : static_cast<Wide>(result);
  const int exponent = std::min(std::max(field, 1), kInfinite - 1) - kBias - kMantissa;
  if constexpr (sizeof(T) == 4)  // a power of two without a call: most of the time goes here
    return std::fabs(value - exact) *
           std::bit_cast<double>(static_cast<uint64_t>(1023 - exponent) << 52);
  else return static_cast<double>(std::ldexp(std::fabs(value - exact), -exponent));
}

}  // namespace hologram::test
