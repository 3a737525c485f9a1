// The transcendental functions of Atlas on the host: the same bits as every device computes.
#pragma once

#include <cstdint>
#include <optional>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

namespace hologram::program {

// The result of a function instruction for operands given as bits (of a float in the lower half for
// f32); `b` is ignored by functions of one operand. Empty if `op` is no transcendental function or
// `type` is neither f32 nor f64.
std::optional<uint64_t> evaluate_function(Op op, DType type, uint64_t a, uint64_t b = 0);

}  // namespace hologram::program
