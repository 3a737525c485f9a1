// Functions of the table of elementwise operations that take more than a line. `compute` is the
// type that x computes in, f32 or f64.
#pragma once

#include "graph/elementwise.hpp"

namespace hologram::graph {

program::Value asinh_of(const Operands& x);
program::Value acosh_of(const Operands& x);
program::Value atanh_of(const Operands& x);
program::Value cbrt_of(const Operands& x);
program::Value sinc_of(const Operands& x);
program::Value erfinv_of(const Operands& x);
program::Value lgamma_of(const Operands& x);
program::Value lerp_of(const Operands& x);
program::Value signbit_of(const Operands& x);

// The number of the operands' dtype that is next to the first operand, towards the second one.
extern const ElementwiseOp kNextAfter;

}  // namespace hologram::graph
