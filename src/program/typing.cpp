#include "program/typing.hpp"

#include <bit>
#include <cmath>
#include <string>

#include "core/messages.hpp"

namespace hologram::program {

using core::Text;

bool accepts(Typing typing, DType t) {
  if (!is_compute_type(t)) return false;
  switch (typing) {
    case Typing::Number: return t != DType::Bool;
    case Typing::SignedOrFloat: return is_signed_integer(t) || is_float(t);
    case Typing::Integer:
    case Typing::Shift: return is_integer(t);
    case Typing::IntegerBool: return is_integer(t) || t == DType::Bool;
    case Typing::Float:
    case Typing::FloatTest: return is_float(t);
    case Typing::Float32: return t == DType::F32;
    case Typing::Int32:
    case Typing::Bytes: return t == DType::I32 || t == DType::U32;
    case Typing::Compare:
    case Typing::Select:
    case Typing::Cast: return true;
    case Typing::Bitcast: return t != DType::Bool;
    case Typing::Special: return false;
  }
  return false;
}

Typed result_type(Op op, std::span<const DType> types, DType to) {
  const OpInfo& row = info(op);
  if (!is_pure(op)) throw core::error(Text::NotAnOperation, row.name);
  if (types.size() != row.arity) throw core::error(Text::OperandCount, row.name, types.size());
  const auto refuse = [&](DType t) { return core::error(Text::OperandType, row.name, name_of(t)); };

  size_t first = 0;
  if (row.typing == Typing::Select) {
    if (types[0] != DType::Bool) throw refuse(types[0]);
    first = 1;
  }
  const DType t = types[first];
  if (!accepts(row.typing, t)) throw refuse(t);
  if (row.typing == Typing::Shift) {
    if (types[1] != DType::U32 && types[1] != DType::I32) throw refuse(types[1]);
    return {t, t};
  }
  if (row.typing == Typing::Bytes) {
    for (const DType other : types.subspan(1))
      if (other != DType::I32) throw refuse(other);
    return {DType::I32, t};
  }
  for (size_t i = first + 1; i < types.size(); i++)
    if (types[i] != t)
      throw core::error(Text::OperandsDiffer, row.name, name_of(t), name_of(types[i]));

  switch (row.typing) {
    case Typing::Compare:
      if (t == DType::Bool && op != Op::Eq && op != Op::Ne) throw refuse(t);
      return {DType::Bool, t};
    case Typing::FloatTest: return {DType::Bool, t};
    case Typing::Cast:
      if (!is_compute_type(to)) throw refuse(to);
      return {to, t};
    case Typing::Bitcast:
      if (!is_compute_type(to) || to == DType::Bool || size_of(to) != size_of(t)) throw refuse(to);
      return {to, t};
    default: return {t, t};
  }
}

namespace {

template <class Number>
Error out_of_range(DType type, Number value) {
  return core::error(Text::ConstantRange, value, name_of(type));
}

}  // namespace

uint64_t bits_of(DType type, double value) {
  switch (type) {
    case DType::F32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::F64: return std::bit_cast<uint64_t>(value);
    case DType::Bool:
      if (value == 0 || value == 1) return value != 0;
      throw out_of_range(type, value);
    case DType::U64:
      if (value >= 0x1p63 && value < 0x1p64 && value == std::trunc(value))
        return static_cast<uint64_t>(value);
      [[fallthrough]];
    default:
      if (!is_integer(type) || value != std::trunc(value) || std::abs(value) >= 0x1p63)
        throw out_of_range(type, value);
      return bits_of(type, static_cast<int64_t>(value));
  }
}

uint64_t bits_of(DType type, int64_t value) {
  const auto within = [&](int64_t low, int64_t high) {
    if (value < low || value > high) throw out_of_range(type, value);
    return static_cast<uint64_t>(value);
  };
  switch (type) {
    case DType::Bool: return within(0, 1);
    case DType::I32: return within(INT32_MIN, INT32_MAX) & UINT32_MAX;
    case DType::U32: return within(0, UINT32_MAX);
    case DType::I64: return static_cast<uint64_t>(value);
    case DType::U64: return within(0, INT64_MAX);
    case DType::F32:
    case DType::F64: return bits_of(type, static_cast<double>(value));
    default: throw out_of_range(type, value);
  }
}

}  // namespace hologram::program
