// Programs that compute one instruction after another of the same operands, and what must come out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hologram/program.hpp"
#include "oracle/naive_interpreter.hpp"
#include "oracle/scalar_model.hpp"

namespace hologram::dialects {

struct InstructionProgram {
  std::string name;  // for messages
  Program program;
  uint64_t groups = 1;
  std::vector<oracle::Memory> buffers;  // before the launch
  std::vector<oracle::Memory> expected;
  std::vector<std::string> rows;  // what each part of the outputs is, by output and part
};

// Every pure instruction of operands of this type; those that give f64 where there is f64.
InstructionProgram pure_instructions(DType from, bool f64);
// The same in programs of at most 7 buffers, one a type of results.
std::vector<InstructionProgram> pure_instructions_by_result(DType from, bool f64);
// The transcendental functions of it.
std::vector<InstructionProgram> functions(DType from);
// Loads and stores of every pair of types of elements that have this compute type.
InstructionProgram conversions_of_storage(DType compute);
// The same for one type that is loaded.
InstructionProgram conversions_from_storage(DType storage);

// Whether a result is taken for another: the bits of both.
using Comparison = std::function<bool(DType type, uint64_t got, uint64_t want)>;
// What is not as expected; empty if all is.
std::string difference(const InstructionProgram& c, const std::vector<oracle::Memory>& got,
                       const Comparison& same = oracle::same);

}  // namespace hologram::dialects
