#include "conformance/oracle.hpp"

#include <cmath>
#include <limits>

namespace hologram::conformance {
namespace {

using X = const Wide*;
using I = const Integer*;
using L = long double;

constexpr L kNan = std::numeric_limits<L>::quiet_NaN();
constexpr L kInfinity = std::numeric_limits<L>::infinity();
constexpr L kPi = 3.14159265358979323846264338327950288L;

L low(Wide x) { return static_cast<L>(x); }

// A function of the C library, in long double.
template <L (*function)(L)>
Wide by(X x, const double*) {
  return function(low(x[0]));
}
template <L (*function)(L, L)>
Wide by2(X x, const double*) {
  return function(low(x[0]), low(x[1]));
}

Wide root(X x, const double*) {
  const L first = std::sqrt(low(x[0]));
  if (!(first > 0) || first == kInfinity) return first;
  return (first + x[0] / first) / 2;  // one step of Newton's doubles the digits
}

// IEEE 754-2019 minimum and maximum: NaN wins, -0 is below 0.
Wide lesser(Wide a, Wide b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  if (a == b) return is_negative(a) ? a : b;
  return a < b ? a : b;
}
Wide greater(Wide a, Wide b) { return -lesser(-a, -b); }

Wide floored_quotient(X x, const double*) {
  if (x[1] == 0 || is_infinite(x[0]) || is_infinite(x[1])) return kNan;
  return std::floor(low(x[0]) / low(x[1]));
}
Wide floored_rest(X x, const double*) {
  const L rest = std::fmod(low(x[0]), low(x[1]));
  if (rest == 0) return std::copysign(L{0}, low(x[1]));
  return (rest < 0) == (low(x[1]) < 0) ? rest : rest + low(x[1]);
}

L sigmoid(L x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
L softplus(L x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
L logaddexp(L a, L b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  const L large = std::fmax(a, b), small = std::fmin(a, b);
  return std::isinf(large) || std::isinf(small) ? large
                                                : large + std::log1p(std::exp(small - large));
}
// Without the cancellation of 1 + erf far below 0.
L gelu(L x) { return x / 2 * std::erfc(-x / std::sqrt(L{2})); }
L gelu_tanh(L x) {
  const L t = 2 * std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x);
  return x * sigmoid(t);
}
L silu(L x) { return x * sigmoid(x); }
// Near whole numbers the sine of a product with pi would have no digits left.
L sinc(L x) {
  if (x == 0) return 1;
  const L whole = std::nearbyint(x), sine = std::sin(kPi * (x - whole));
  return (std::fmod(whole, L{2}) == 0 ? sine : -sine) / (kPi * x);
}
// Some C libraries give numbers below -1.
L acosh(L x) { return x < 1 ? kNan : std::acosh(x); }
// One quotient of long doubles is wrong in WebAssembly: compiler-rt makes x / (1 - x) twice what it
// is at 2^-113, and that is how its C library begins.
L atanh(L x) { return std::fabs(x) < 0x1p-40L ? x : std::atanh(x); }
// By Newton's steps from erfc, where that keeps what 1 - x has left.
L erfinv(L x) {
  const L a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(kInfinity, x) : kNan;
  if (a < 1e-9L) return x * std::sqrt(kPi) / 2;
  L y = std::sqrt(-std::log1p(-a) - (a < 0.5L ? 0 : L{0.3L}));
  for (int i = 0; i < 60; i++) {
    const L off = a < 0.5L ? a - std::erf(y) : std::erfc(y) - (1 - a);
    y += off * std::exp(y * y) * std::sqrt(kPi) / 2;
  }
  return std::copysign(y, x);
}
L rsqrt(L x) { return 1 / std::sqrt(x); }
Wide one_if(bool truth) { return truth ? 1 : 0; }

// Modulo 2^64, whatever the width.
Integer product(Integer a, Integer b) {
  const uint64_t all = static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
  return all;
}
Integer quotient(I x) {
  if (x[1] == 0) return 0;
  const Integer q = x[0] / x[1];
  return x[0] % x[1] != 0 && (x[0] < 0) != (x[1] < 0) ? q - 1 : q;
}

Integer power(I x, Kind) {
  if (x[1] < 0) return x[0] == 1 ? 1 : x[0] == -1 ? (x[1] % 2 != 0 ? -1 : 1) : 0;
  uint64_t result = 1;
  auto base = static_cast<uint64_t>(x[0]);
  for (auto left = static_cast<uint64_t>(x[1]); left != 0; left /= 2) {
    if (left % 2 != 0) result *= base;
    base *= base;
  }
  return result;
}
Integer size_of_shift(Integer count, Kind kind) {
  return static_cast<Integer>(static_cast<uint64_t>(count) % static_cast<uint64_t>(kind.bits));
}

#define REAL [](X x, const double*) -> Wide
#define WHOLE [](I x, Kind) -> Integer
#define COMPARED(op)                    \
  REAL { return one_if(x[0] op x[1]); } \
  , WHOLE { return x[0] op x[1]; }
#define LOGICAL(op)                                  \
  REAL { return one_if((x[0] != 0) op(x[1] != 0)); } \
  , WHOLE { return (x[0] != 0) op(x[1] != 0); }
#define UNCHANGED \
  WHOLE { return x[0]; }

constexpr Oracle kOracles[] = {{"add", REAL{return x[0] + x[1];
}  // namespace
, WHOLE { return x[0] + x[1]; }
}  // namespace hologram::conformance
, {"sub", REAL{return x[0] - x[1];
}
, WHOLE { return x[0] - x[1]; }
}
, {"mul", REAL{return x[0] * x[1];
}
, WHOLE { return product(x[0], x[1]); }
}
, {"div", REAL{return x[0] / x[1];
}
, nullptr
}
, {"floor_div", floored_quotient, WHOLE{return quotient(x);
}
, Operands::Quotients
}
, {"rem", floored_rest, WHOLE{return x[1] == 0 ? 0 : x[0] - quotient(x) * x[1];
}
, Operands::Quotients
}
, {"neg", REAL{return -x[0];
}
, WHOLE { return -x[0]; }
}
, {"abs", REAL{return is_negative(x[0]) ? -x[0] : x[0];
}
, WHOLE { return x[0] < 0 ? -x[0] : x[0]; }
}
, {"sign", REAL{return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0];
}
, WHOLE { return (x[0] > 0) - (x[0] < 0); }
}
, {"copysign", REAL{const Wide size = is_negative(x[0]) ? -x[0] : x[0];
return is_negative(x[1]) ? -size : size;
}
, nullptr
}
, {"minimum", REAL{return lesser(x[0], x[1]);
}
, WHOLE { return x[0] < x[1] ? x[0] : x[1]; }
}
, {"maximum", REAL{return greater(x[0], x[1]);
}
, WHOLE { return x[0] > x[1] ? x[0] : x[1]; }
}
, {"clamp", REAL{return lesser(greater(x[0], x[1]), x[2]);
}
, WHOLE {
  const Integer above = x[0] > x[1] ? x[0] : x[1];
  return above < x[2] ? above : x[2];
}
}
, {"mad", REAL{return x[0] * x[1] + x[2];
}
, WHOLE { return product(x[0], x[1]) + x[2]; }
, Operands::Inside
}
, {"fma", REAL{return x[0] * x[1] + x[2];
}
, WHOLE { return product(x[0], x[1]) + x[2]; }
, Operands::Inside
}
,

    {"floor", by<std::floor>, UNCHANGED}, {"ceil", by<std::ceil>, UNCHANGED},
    {"round", by<std::nearbyint>, UNCHANGED}, {"trunc", by<std::trunc>, UNCHANGED},

    {"sqrt", root, nullptr}, {"rsqrt", by<rsqrt>, nullptr, Operands::Inside},
    {"square", REAL{return x[0] * x[0];
}
, WHOLE { return product(x[0], x[0]); }
}
, {"reciprocal", REAL{return 1 / x[0];
}
, nullptr
}
, {"pow", by2<std::pow>, power, Operands::Inside}, {"hypot", by2<std::hypot>, nullptr},

    {"exp", by<std::exp>, nullptr}, {"exp2", by<std::exp2>, nullptr},
    {"expm1", by<std::expm1>, nullptr}, {"log", by<std::log>, nullptr},
    {"log2", by<std::log2>, nullptr}, {"log10", by<std::log10>, nullptr},
    {"log1p", by<std::log1p>, nullptr}, {"logaddexp", by2<logaddexp>, nullptr, Operands::Inside},
    {"sin", by<std::sin>, nullptr}, {"cos", by<std::cos>, nullptr}, {"tan", by<std::tan>, nullptr},
    {"asin", by<std::asin>, nullptr}, {"acos", by<std::acos>, nullptr},
    {"atan", by<std::atan>, nullptr}, {"atan2", by2<std::atan2>, nullptr},
    {"sinh", by<std::sinh>, nullptr}, {"cosh", by<std::cosh>, nullptr},
    {"asinh", by<std::asinh>, nullptr}, {"acosh", by<acosh>, nullptr},
    {"atanh", by<atanh>, nullptr}, {"sinc", by<sinc>, nullptr}, {"cbrt", by<std::cbrt>, nullptr},
    {"lerp", [](X x, const double*) -> Wide { return x[0] + x[2] * (x[1] - x[0]); }, nullptr,
     Operands::Inside},
    {"signbit", [](X x, const double*) -> Wide { return one_if(is_negative(x[0])); },
     [](I x, Kind) -> Integer { return x[0] < 0; }},
    {"tanh", by<std::tanh>, nullptr}, {"erf", by<std::erf>, nullptr},
    {"erfinv", by<erfinv>, nullptr}, {"lgamma", by<std::lgamma>, nullptr},

    {"sigmoid", by<sigmoid>, nullptr, Operands::Inside}, {"relu", REAL{return greater(x[0], 0);
}
, WHOLE { return x[0] > 0 ? x[0] : 0; }
}
,
    {"leaky_relu", [](X x, const double* a) -> Wide { return x[0] < 0 ? x[0] * a[0] : x[0]; },
     nullptr, Operands::Inside},
    {"gelu", by<gelu>, nullptr, Operands::Inside},
    {"gelu_tanh", by<gelu_tanh>, nullptr, Operands::Inside},
    {"silu", by<silu>, nullptr, Operands::Inside},
    {"softplus", by<softplus>, nullptr, Operands::Inside},
    {"elu",
     [](X x, const double* a) -> Wide { return x[0] > 0 ? x[0] : a[0] * std::expm1(low(x[0])); },
     nullptr, Operands::Inside},

    {"eq", COMPARED(==)}, {"ne", COMPARED(!=)}, {"lt", COMPARED(<)}, {"le", COMPARED(<=)},
    {"gt", COMPARED(>)}, {"ge", COMPARED(>=)}, {"isnan", REAL{return one_if(is_nan(x[0]));
}
, [](I, Kind) -> Integer { return 0; }
}
, {"isinf", REAL{return one_if(is_infinite(x[0]));
}
, [](I, Kind) -> Integer { return 0; }
}
, {"isfinite", REAL{return one_if(!is_infinite(x[0]) && !is_nan(x[0]));
}
, [](I, Kind) -> Integer { return 1; }
}
,

    {"logical_and", LOGICAL(&&)}, {"logical_or", LOGICAL(||)}, {"logical_xor", LOGICAL(!=)},
    {"logical_not", REAL{return one_if(x[0] == 0);
}
, WHOLE { return x[0] == 0; }
}
, {"bitwise_and", nullptr, WHOLE{return x[0] & x[1];
}
}
, {"bitwise_or", nullptr, WHOLE{return x[0] | x[1];
}
}
, {"bitwise_xor", nullptr, WHOLE{return x[0] ^ x[1];
}
}
,
    {"bitwise_not", nullptr,
     [](I x, Kind kind) -> Integer { return kind.bits == 1 ? 1 - x[0] : ~x[0]; }},
    {"shift_left", nullptr,
     [](I x, Kind kind) -> Integer {
       const uint64_t moved = static_cast<uint64_t>(x[0]) << size_of_shift(x[1], kind);
       return moved;
     }},
    {"shift_right", nullptr,
     [](I x, Kind kind) -> Integer { return x[0] >> size_of_shift(x[1], kind); }},
    {"where", REAL{return x[0] != 0 ? x[1] : x[2];
}
, WHOLE { return x[0] != 0 ? x[1] : x[2]; }
}
,
}
;
#undef REAL
#undef WHOLE
#undef COMPARED
#undef LOGICAL
#undef UNCHANGED

}  // namespace

std::span<const Oracle> oracles() { return kOracles; }

const Oracle* find_oracle(std::string_view name) {
  for (const Oracle& oracle : kOracles)
    if (oracle.name == name) return &oracle;
  return nullptr;
}

}  // namespace hologram::conformance
