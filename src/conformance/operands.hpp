// Numbers to try an operation on.
#pragma once

#include <random>

#include "conformance/oracle.hpp"
#include "graph/elementwise.hpp"

namespace hologram::conformance {

using Generator = std::mt19937_64;

// Values for one operand: the limits of the dtype first, each meeting each of the other operands'
// where there is room, then numbers of every magnitude that the row's bound covers.
Array operand_values(const graph::ElementwiseOp& row, const Oracle& oracle, size_t operand,
                     DType dtype, const Shape& shape, Generator& generator);

// Numbers in [low, high], and whole numbers of every size.
Array plain_values(DType dtype, const Shape& shape, double low, double high, Generator& generator);
// All 65,536 numbers of f16 or bf16.
Array every_value(DType dtype);

}  // namespace hologram::conformance
