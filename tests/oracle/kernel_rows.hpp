// Calls a kernel of the interpreter on columns of values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "interp/kernels.hpp"

namespace hologram::oracle {

// An instruction with its types.
struct Signature {
  program::Op op;
  DType type;  // of the result
  DType from;  // what the kernel is listed under
  std::array<DType, 3> operands;
  size_t arity;
};

// How a call is laid out: which operand is one group for all lanes, and which one the result
// overwrites; 3 for none.
struct RowLayout {
  size_t uniform = 3;
  size_t replaced = 3;
};

// A layout for the call of this number; most are plain.
RowLayout row_layout(const Signature& s, size_t call);

// The results for operands in columns of a multiple of 16 values. False if there is no such kernel,
// or if it wrote anything past the result's row or into an operand.
bool run_rows(const interp::KernelTable& kernels, const Signature& s, const RowLayout& layout,
              const std::array<std::vector<uint64_t>, 3>& columns, std::vector<uint64_t>& results);

}  // namespace hologram::oracle
