#include "oracle/scalar_model.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace hologram::oracle {
namespace {

using program::Op;
using Args = std::array<uint64_t, 3>;
using Int = __int128;
using Bits128 = unsigned __int128;

// Binary128 holds a product of two doubles exactly and has two bits to spare, so that rounding to
// it and then to double is rounding once.
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int width_of(DType t) { return t == DType::Bool ? 1 : static_cast<int>(8 * size_of(t)); }

// --- numbers from bits and back

uint64_t low_bits(uint64_t bits, int count) {
  return count >= 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

Int integer(DType t, uint64_t bits) {
  const int width = width_of(t);
  const Int value = low_bits(bits, width);
  const bool negative = is_signed_integer(t) && (bits >> (width - 1) & 1);
  return negative ? value - (Int{1} << width) : value;
}

uint64_t wrapped(DType t, Int value) { return low_bits(static_cast<uint64_t>(value), width_of(t)); }

double real(DType t, uint64_t bits) {
  return t == DType::F32 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                         : std::bit_cast<double>(bits);
}

// To the nearest of the type, ties to even.
template <class Number>
uint64_t rounded(DType t, Number value) {
  if (t == DType::F32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return std::bit_cast<uint64_t>(static_cast<double>(value));
}

// --- floats

uint64_t arithmetic(Op op, DType t, double a, double b) {
  if (t == DType::F32) {  // double has more than twice the digits, so it rounds innocuously
    const double r = op == Op::Add ? a + b : op == Op::Sub ? a - b : op == Op::Mul ? a * b : a / b;
    return rounded(t, r);
  }
  const Quad x = a, y = b;
  const Quad r = op == Op::Add ? x + y : op == Op::Sub ? x - y : op == Op::Mul ? x * y : x / y;
  return rounded(t, r);
}

// The product is exact. The sum is rounded to odd: if it is inexact its last bit is made 1, which
// keeps on which side of a tie it lies.
uint64_t fused(DType t, double a, double b, double c) {
  const Quad product = static_cast<Quad>(a) * b;
  const Quad addend = c;
  Quad sum = product + addend;
  const double approximate = static_cast<double>(sum);
  if (!std::isnan(approximate) && !std::isinf(a) && !std::isinf(b) && !std::isinf(c)) {
    const Quad back = sum - product;
    const Quad error = (product - (sum - back)) + (addend - back);
    Bits128 bits;
    std::memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && (bits & 1) == 0) {
      bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
      std::memcpy(&sum, &bits, sizeof bits);
    }
  }
  return rounded(t, sum);
}

// The root r is right when x lies between the squares of the midpoints around it; they have 108
// digits.
double root(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0 || x == kInf) return x;
  double r = std::sqrt(x);
  const auto above = [&](double low) {  // whether x passes the middle of low and its successor
    const Quad middle = (static_cast<Quad>(low) + std::nextafter(low, kInf)) / 2;
    return static_cast<Quad>(x) > middle * middle;
  };
  while (above(r)) r = std::nextafter(r, kInf);
  while (!above(std::nextafter(r, 0.0))) r = std::nextafter(r, 0.0);
  return r;
}

double to_whole(Op op, double x) {
  if (!(std::abs(x) < 0x1p53)) return x;
  const auto down = static_cast<int64_t>(x) - (static_cast<double>(static_cast<int64_t>(x)) > x);
  const double fraction = x - static_cast<double>(down);  // in [0, 1), exact: see below
  int64_t result = down;
  switch (op) {
    case Op::Ceil: result += fraction > 0; break;
    case Op::Trunc: result += fraction > 0 && x < 0; break;
    case Op::Round: {
      // A tiny negative number has a fraction of 1 after rounding, which still rounds up to -0.
      if (fraction > 0.5 || (fraction == 0.5 && down % 2 != 0)) result++;
      break;
    }
    default: break;
  }
  return std::copysign(static_cast<double>(result), x);  // a zero has the sign of x
}

double smaller(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

// To `digits` binary digits, no finer than 2^lowest; infinity from `limit` on.
double to_digits(double x, int digits, int lowest, double limit) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - digits, lowest);
  const double r = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::abs(r) >= limit ? std::copysign(kInf, x) : r;
}
double nearest_f16(double x) { return to_digits(x, 11, -24, 0x1p16); }
double nearest_bf16(double x) { return to_digits(x, 8, -133, 0x1p128); }

std::optional<uint64_t> float_op(Op op, DType t, const Args& args) {
  const double a = real(t, args[0]), b = real(t, args[1]), c = real(t, args[2]);
  const uint64_t sign_bit = uint64_t{1} << (width_of(t) - 1);
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div: return arithmetic(op, t, a, b);
    case Op::Neg: return args[0] ^ sign_bit;
    case Op::Abs: return args[0] & ~sign_bit;
    case Op::CopySign: return (args[0] & ~sign_bit) | (args[1] & sign_bit);
    case Op::Sign: return rounded(t, a > 0 ? 1.0 : a < 0 ? -1.0 : a);
    case Op::Min: return rounded(t, smaller(a, b));
    case Op::Max: return rounded(t, larger(a, b));
    case Op::Fma:
    case Op::Mad: return fused(t, a, b, c);
    case Op::Sqrt: return rounded(t, root(a));
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: return rounded(t, to_whole(op, a));
    case Op::Eq: return a == b;
    case Op::Ne: return !(a == b);
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::IsNan: return a != a;
    case Op::IsInf: return std::abs(a) == kInf;
    case Op::IsFinite: return std::abs(a) < kInf;
    case Op::RoundF16: return rounded(t, nearest_f16(a));
    case Op::RoundBF16: return rounded(t, nearest_bf16(a));
    default: return std::nullopt;
  }
}

// --- integers and bool

std::optional<uint64_t> integer_op(Op op, DType t, const Args& args) {
  const Int a = integer(t, args[0]), b = integer(t, args[1]), c = integer(t, args[2]);
  const int width = width_of(t);
  const auto product = static_cast<Int>(static_cast<Bits128>(a) * static_cast<Bits128>(b));
  const auto count = static_cast<int>(args[1] % static_cast<uint64_t>(width));
  const auto result = [&](Int value) { return wrapped(t, value); };
  switch (op) {
    case Op::Add: return result(a + b);
    case Op::Sub: return result(a - b);
    case Op::Mul: return result(product);
    case Op::MulHi: return result(product >> width);
    case Op::Div: return result(b == 0 ? 0 : a / b);
    case Op::Rem: return result(b == 0 ? 0 : a % b);
    case Op::Neg: return result(-a);
    case Op::Abs: return result(a < 0 ? -a : a);
    case Op::Sign: return result((a > 0) - (a < 0));
    case Op::Min: return result(a < b ? a : b);
    case Op::Max: return result(a > b ? a : b);
    case Op::Fma:
    case Op::Mad: return result(static_cast<Int>(static_cast<Bits128>(product) + Bits128(c)));
    case Op::And: return result(a & b);
    case Op::Or: return result(a | b);
    case Op::Xor: return result(a ^ b);
    case Op::Not: return result(~a);
    case Op::Shl: return result(static_cast<Int>(Bits128(a) << count));
    case Op::Shr: return result(a >> count);
    case Op::PopCount:
    case Op::Clz: {
      int ones = 0, zeros = 0;
      for (int i = width - 1; i >= 0; i--) {
        ones += static_cast<int>(args[0] >> i & 1);
        if (ones == 0) zeros++;
      }
      return result(op == Op::PopCount ? ones : zeros);
    }
    case Op::Dot4: {
      Int sum = integer(DType::I32, args[2]);
      for (int k = 0; k < 4; k++) {
        const uint64_t x = args[0] >> (8 * k), y = args[1] >> (8 * k);
        sum += integer(is_signed_integer(t) ? DType::I8 : DType::U8, x) * integer(DType::I8, y);
      }
      return wrapped(DType::I32, sum);
    }
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Wrap8:
    case Op::Wrap16: {
      const bool sign = is_signed_integer(t), eight = op == Op::Wrap8;
      const DType narrow =
          eight ? (sign ? DType::I8 : DType::U8) : (sign ? DType::I16 : DType::U16);
      return result(integer(narrow, args[0]));
    }
    default: return std::nullopt;
  }
}

// --- conversion

uint64_t cast(DType to, DType from, uint64_t bits) {
  if (!is_float(from)) {
    const Int value = integer(from, bits);
    if (to == DType::Bool) return value != 0;
    if (!is_float(to)) return wrapped(to, value);
    return rounded(to, static_cast<Quad>(value));  // 64-bit integers are exact in a Quad
  }
  const double value = real(from, bits);
  if (to == DType::Bool) return !(value == 0);
  if (is_float(to)) return rounded(to, value);
  if (std::isnan(value)) return 0;
  const int digits = width_of(to) - is_signed_integer(to);
  const Int highest = (Int{1} << digits) - 1;
  const Int lowest = is_signed_integer(to) ? -(Int{1} << digits) : 0;
  if (value >= std::ldexp(1.0, digits)) return wrapped(to, highest);
  if (value <= static_cast<double>(lowest)) return wrapped(to, lowest);
  return wrapped(to, static_cast<Int>(value));
}

}  // namespace

std::optional<uint64_t> scalar_model(Op op, DType type, DType from, const Args& args) {
  if (op == Op::Select) return args[0] != 0 ? args[1] : args[2];
  if (op == Op::Cast) return cast(type, from, args[0]);
  if (op == Op::Bitcast) return args[0];
  return is_float(from) ? float_op(op, from, args) : integer_op(op, from, args);
}

uint64_t mad_in_two_steps(DType type, const Args& args) {
  if (!is_float(type)) return *integer_op(Op::Mad, type, args);
  const uint64_t product = arithmetic(Op::Mul, type, real(type, args[0]), real(type, args[1]));
  return arithmetic(Op::Add, type, real(type, product), real(type, args[2]));
}

uint64_t load_element(DType storage, const uint8_t* memory) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size_of(storage); i++) bits |= uint64_t{memory[i]} << (8 * i);
  switch (storage) {
    case DType::Bool: return bits != 0;
    case DType::BF16: return bits << 16;
    case DType::F16: {
      const auto exponent = static_cast<int>(bits >> 10 & 31);
      const auto digits = static_cast<double>(bits & 1023);
      const double magnitude = exponent == 31  ? (digits == 0 ? kInf : kNan)
                               : exponent == 0 ? std::ldexp(digits, -24)
                                               : std::ldexp(1024 + digits, exponent - 25);
      return rounded(DType::F32, bits >> 15 ? -magnitude : magnitude);
    }
    default:
      return is_integer(storage) ? wrapped(compute_type(storage), integer(storage, bits)) : bits;
  }
}

void store_element(DType storage, uint8_t* memory, uint64_t value) {
  uint64_t bits = value;
  if (storage == DType::Bool) bits = value != 0;
  if (storage == DType::F16 || storage == DType::BF16) {
    const double x = real(DType::F32, value);
    if (storage == DType::BF16) {
      bits = std::isnan(x) ? 0x7fc0 : rounded(DType::F32, nearest_bf16(x)) >> 16;
    } else {
      const double magnitude = std::abs(nearest_f16(x));
      uint64_t half = 0;
      if (std::isnan(x)) {
        half = 0x7e00;
      } else if (magnitude == kInf) {
        half = 0x7c00;
      } else if (magnitude < 0x1p-14) {
        half = static_cast<uint64_t>(std::ldexp(magnitude, 24));
      } else {
        const int exponent = std::ilogb(magnitude);
        half = static_cast<uint64_t>(std::ldexp(magnitude, 10 - exponent)) - 1024;
        half |= static_cast<uint64_t>(exponent + 15) << 10;
      }
      bits = half | (std::signbit(x) ? 0x8000 : 0);
    }
  }
  for (size_t i = 0; i < size_of(storage); i++) memory[i] = static_cast<uint8_t>(bits >> (8 * i));
}

bool same(DType type, uint64_t a, uint64_t b) {
  if (a == b) return true;
  struct Layout {
    uint64_t magnitude, infinity;
  };
  const Layout layout = type == DType::F16    ? Layout{0x7fff, 0x7c00}
                        : type == DType::BF16 ? Layout{0x7fff, 0x7f80}
                        : type == DType::F32  ? Layout{0x7fffffff, 0x7f800000}
                        : type == DType::F64  ? Layout{INT64_MAX, 0x7ff0000000000000}
                                              : Layout{0, 0};
  if (layout.infinity == 0) return false;
  return (a & layout.magnitude) > layout.infinity && (b & layout.magnitude) > layout.infinity;
}

}  // namespace hologram::oracle
