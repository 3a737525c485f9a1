// Numbers that the assembler knows: literals, constants and what is computed from them. They are
// weak: they have no type until they meet one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

namespace hologram::program {

__extension__ using Wide = __int128;

struct Number {
  enum class Kind : uint8_t { Integer, Real, Bool };
  Kind kind = Kind::Integer;
  Wide integer = 0;  // also of a bool: 0 or 1
  double real = 0;

  static Number of_integer(Wide value) { return {Kind::Integer, value, 0}; }
  static Number of_real(double value) { return {Kind::Real, 0, value}; }
  static Number of_bool(bool value) { return {Kind::Bool, value, 0}; }

  double as_real() const { return kind == Kind::Real ? real : static_cast<double>(integer); }
  bool is_integer() const { return kind == Kind::Integer; }
};

std::string to_string(const Number& number);

// i32, f32 or bool.
DType default_type(const Number& number);

// The number as bits of a compute type; InvalidProgram if the type has no such number. Floats round
// to nearest.
uint64_t bits_of(const Number& number, DType type);

// As a conversion written in the program has it: integers wrap, reals truncate and saturate.
uint64_t converted_bits(const Number& number, DType type);

// The operation on numbers: integers are exact, reals are doubles. Empty if it is not one that the
// assembler computes; InvalidProgram if the result is beyond 64 bits or not defined.
std::optional<Number> fold(Op op, std::span<const Number> operands);

}  // namespace hologram::program
