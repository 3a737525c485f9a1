// Numbers that find mistakes.
#pragma once

#include <cstdint>
#include <span>

#include "hologram/dtype.hpp"
#include "oracle/choices.hpp"

namespace hologram::oracle {

// The bits of the special values of a compute type: zeros, ones, limits, powers of two and their
// neighbours, halves; of floats also denormals, infinities, NaN, the limits of the integer types.
std::span<const uint64_t> special_values(DType t);

// Anything of a compute type: special values, moderate numbers, and bits of any exponent.
uint64_t random_value(DType t, Choices& choices);

// The same, of numbers small enough that sums and products of a few stay within the type.
uint64_t moderate_value(DType t, Choices& choices);

}  // namespace hologram::oracle
