// What each pure instruction means, one value at a time.
//
// A second opinion on the interpreter: written from the words of the instruction table alone, in
// wider types than the kernels use, slow and plain, sharing no code with src/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

namespace hologram::oracle {

// The bits of the result, zero-extended; those of a NaN are one of many. `type` is the type of the
// result, `from` that of the operands (of the branches of select). Empty for the transcendental
// functions, whose bits are defined by their expansions. Mad is rounded once here.
std::optional<uint64_t> scalar_model(program::Op op, DType type, DType from,
                                     const std::array<uint64_t, 3>& args);

// mul and then add, each rounded: the other value that mad may have.
uint64_t mad_in_two_steps(DType type, const std::array<uint64_t, 3>& args);

// One element of a buffer as a value of its compute type, and back.
uint64_t load_element(DType storage, const uint8_t* memory);
void store_element(DType storage, uint8_t* memory, uint64_t value);

// Whether two values of one type, storage or compute, are the same; all NaN are.
bool same(DType type, uint64_t a, uint64_t b);

}  // namespace hologram::oracle
