#include "program/text/number.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/messages.hpp"

namespace hologram::program {
namespace {

using core::Text;
using Kind = Number::Kind;

constexpr Wide kLimit = Wide{1} << 64;

std::string decimal(Wide value) {
  const bool negative = value < 0;
  std::string digits;
  for (Wide v = negative ? -value : value; v != 0 || digits.empty(); v /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(v % 10)));
  return negative ? "-" + digits : digits;
}

struct Range {
  Wide low, high;
};

Range range_of(DType type) {
  switch (type) {
    case DType::I32: return {INT32_MIN, INT32_MAX};
    case DType::U32: return {0, UINT32_MAX};
    case DType::I64: return {INT64_MIN, INT64_MAX};
    default: return {0, UINT64_MAX};
  }
}

uint64_t float_bits(const Number& number, DType type) {
  if (number.kind == Kind::Real && std::isnan(number.real))  // one NaN, whatever it came from
    return type == DType::F32 ? std::bit_cast<uint32_t>(std::numeric_limits<float>::quiet_NaN())
                              : std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  if (type == DType::F64) return std::bit_cast<uint64_t>(number.as_real());
  const float value = number.kind == Kind::Real ? static_cast<float>(number.real)
                                                : static_cast<float>(number.integer);
  return std::bit_cast<uint32_t>(value);
}

uint64_t cut(Wide value, DType type) {
  return static_cast<uint64_t>(value) & (size_of(type) == 4 ? UINT32_MAX : UINT64_MAX);
}

Number exact(bool overflow, Wide value) {
  if (overflow || value <= -kLimit || value >= kLimit) throw core::error(Text::AtlasNumberOverflow);
  return Number::of_integer(value);
}

std::optional<Number> fold_integers(Op op, Wide a, Wide b) {
  Wide r = 0;
  switch (op) {
    case Op::Add: return exact(false, a + b);
    case Op::Sub: return exact(false, a - b);
    case Op::Mul: {
      const bool overflow = __builtin_mul_overflow(a, b, &r);
      return exact(overflow, r);
    }
    case Op::Div:
    case Op::Rem:
      if (b == 0) throw core::error(Text::AtlasNumberDivision);
      return Number::of_integer(op == Op::Div ? a / b : a % b);
    case Op::And: return Number::of_integer(a & b);
    case Op::Or: return Number::of_integer(a | b);
    case Op::Xor: return Number::of_integer(a ^ b);
    case Op::Shl:
    case Op::Shr: {
      if (b < 0 || b > 63) throw core::error(Text::AtlasNumberShift, decimal(b));
      if (op == Op::Shr) return Number::of_integer(a >> static_cast<int>(b));
      const bool overflow = __builtin_mul_overflow(a, Wide{1} << static_cast<int>(b), &r);
      return exact(overflow, r);
    }
    case Op::Min: return Number::of_integer(a < b ? a : b);
    case Op::Max: return Number::of_integer(a > b ? a : b);
    case Op::Eq: return Number::of_bool(a == b);
    case Op::Ne: return Number::of_bool(a != b);
    case Op::Lt: return Number::of_bool(a < b);
    case Op::Le: return Number::of_bool(a <= b);
    case Op::Gt: return Number::of_bool(a > b);
    case Op::Ge: return Number::of_bool(a >= b);
    default: return std::nullopt;
  }
}

std::optional<Number> fold_reals(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return Number::of_real(a + b);
    case Op::Sub: return Number::of_real(a - b);
    case Op::Mul: return Number::of_real(a * b);
    case Op::Div: return Number::of_real(a / b);
    case Op::Eq: return Number::of_bool(a == b);
    case Op::Ne: return Number::of_bool(a != b);
    case Op::Lt: return Number::of_bool(a < b);
    case Op::Le: return Number::of_bool(a <= b);
    case Op::Gt: return Number::of_bool(a > b);
    case Op::Ge: return Number::of_bool(a >= b);
    default: return std::nullopt;
  }
}

std::optional<Number> fold_bools(Op op, bool a, bool b) {
  switch (op) {
    case Op::And: return Number::of_bool(a && b);
    case Op::Or: return Number::of_bool(a || b);
    case Op::Xor:
    case Op::Ne: return Number::of_bool(a != b);
    case Op::Eq: return Number::of_bool(a == b);
    default: return std::nullopt;
  }
}

std::optional<Number> fold_one(Op op, const Number& a) {
  switch (op) {
    case Op::Neg:
      if (a.kind == Kind::Integer) return Number::of_integer(-a.integer);
      if (a.kind == Kind::Real) return Number::of_real(-a.real);
      return std::nullopt;
    case Op::Not:
      if (a.kind == Kind::Bool) return Number::of_bool(a.integer == 0);
      if (a.kind == Kind::Integer) return exact(false, ~a.integer);
      return std::nullopt;
    case Op::Abs:
      if (a.kind == Kind::Integer)
        return Number::of_integer(a.integer < 0 ? -a.integer : a.integer);
      if (a.kind == Kind::Real) return Number::of_real(std::abs(a.real));
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::string to_string(const Number& number) {
  if (number.kind == Kind::Bool) return number.integer != 0 ? "true" : "false";
  return number.kind == Kind::Integer ? decimal(number.integer) : fmt::format("{}", number.real);
}

DType default_type(const Number& number) {
  return number.kind == Kind::Bool      ? DType::Bool
         : number.kind == Kind::Integer ? DType::I32
                                        : DType::F32;
}

uint64_t bits_of(const Number& number, DType type) {
  if ((type == DType::Bool) != (number.kind == Kind::Bool))
    throw core::error(type == DType::Bool ? Text::AtlasNumberForBool : Text::AtlasBoolForNumber,
                      to_string(number), name_of(type));
  if (type == DType::Bool) return number.integer != 0;
  if (is_float(type)) return float_bits(number, type);
  if (number.kind == Kind::Real)
    throw core::error(Text::AtlasRealForInteger, to_string(number), name_of(type));
  const Range range = range_of(type);
  if (number.integer < range.low || number.integer > range.high)
    throw core::error(Text::ConstantRange, to_string(number), name_of(type));
  return cut(number.integer, type);
}

uint64_t converted_bits(const Number& number, DType type) {
  if (type == DType::Bool)
    return number.kind == Kind::Real ? number.real != 0 : number.integer != 0;
  if (is_float(type)) return float_bits(number, type);
  if (number.kind != Kind::Real) return cut(number.integer, type);
  const Range range = range_of(type);
  if (std::isnan(number.real)) return 0;
  if (number.real <= static_cast<double>(range.low)) return cut(range.low, type);
  if (number.real >= static_cast<double>(range.high)) return cut(range.high, type);
  return cut(static_cast<Wide>(number.real), type);
}

std::optional<Number> fold(Op op, std::span<const Number> operands) {
  if (operands.size() == 1) return fold_one(op, operands[0]);
  if (op == Op::Select && operands.size() == 3 && operands[0].kind == Kind::Bool)
    return operands[operands[0].integer != 0 ? 1 : 2];
  if (operands.size() != 2) return std::nullopt;
  const Number &a = operands[0], &b = operands[1];
  if (a.kind == Kind::Bool && b.kind == Kind::Bool)
    return fold_bools(op, a.integer != 0, b.integer != 0);
  if (a.kind == Kind::Bool || b.kind == Kind::Bool) return std::nullopt;
  if (a.kind == Kind::Integer && b.kind == Kind::Integer)
    return fold_integers(op, a.integer, b.integer);
  return fold_reals(op, a.as_real(), b.as_real());
}

}  // namespace hologram::program
