// The block kernels of the interpreter: one instruction over a row of lanes.
//
// Lanes come in groups of 16; a row always holds whole groups. A value of a 32-bit type takes 64
// bytes a group, of a 64-bit type 128 bytes, a bool 2 bytes (bit i is lane i). An operand that is
// the same in every lane is one group with a step of 0, so that one loop serves both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

namespace hologram::interp {

inline constexpr size_t kGroup = 16;  // lanes a group

struct Operand {
  const std::byte* data;
  size_t step;  // bytes from one group to the next: 0 if uniform
};

// out may equal an operand exactly (same address, same step); any other overlap is not allowed.
using Kernel = void (*)(std::byte* out, const Operand* in, size_t groups);

// out[l] = data[step * l] for the lanes of whole groups of 4-byte elements; it reads step elements
// a lane, those behind the last one too.
using StridedLoad = void (*)(std::byte* out, const std::byte* data, size_t groups);

// The kernels of one instruction set. Each fill_* function (one a translation unit, compiled once
// for every target by Highway) enters its rows.
struct KernelTable {
  // Indexed by instruction and operand type; null where the instruction has no such type.
  Kernel pure[program::kOpCount][kDTypeCount] = {};
  Kernel casts[kDTypeCount][kDTypeCount] = {};  // by operand and result type

  StridedLoad strided[5] = {};  // by step; null for 0 and 1

  Kernel& at(program::Op op, DType operand) {
    return pure[static_cast<size_t>(op)][static_cast<size_t>(operand)];
  }
  Kernel at(program::Op op, DType operand) const {
    return pure[static_cast<size_t>(op)][static_cast<size_t>(operand)];
  }
  Kernel& cast(DType from, DType to) {
    return casts[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }
  Kernel cast(DType from, DType to) const {
    return casts[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }
};

}  // namespace hologram::interp
