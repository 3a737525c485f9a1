// Type rules of pure instructions, and numbers as bits.
#pragma once

#include <span>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

namespace hologram::program {

struct Typed {
  DType result;
  DType from;  // the operands' type (of the branches of select)
};

// The types of a pure instruction; InvalidProgram if the operands do not suit it. `to` is the
// result type of cast and bitcast.
Typed result_type(Op op, std::span<const DType> types, DType to);

// Whether the instruction exists for operands of this type.
bool accepts(Typing typing, DType t);

// The number as bits of a compute type, zero-extended; InvalidProgram if an integer type cannot
// hold it. Floats round to nearest.
uint64_t bits_of(DType type, double value);
uint64_t bits_of(DType type, int64_t value);

}  // namespace hologram::program
