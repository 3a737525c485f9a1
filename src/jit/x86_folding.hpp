// Operands in memory for registers that stand on the stack.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <optional>

#include "core/function_ref.hpp"

namespace hologram::jit {

struct Spilled {
  uint32_t size;           // bytes of the register
  asmjit::x86::Mem where;  // of no size yet
};
// None of a register that does not stand on the stack.
using FindSpilled = core::FunctionRef<std::optional<Spilled>(const asmjit::Operand& of)>;

// Has an instruction take one general register from the stack, or write one there.
void fold_general(asmjit::InstNode& node, FindSpilled find);

// Has an instruction take one vector from the stack, or a move write one there, where that can be.
// Gives the register, if it is on the stack, that the instruction only writes, so that it need not
// be loaded; else kNotOnlyWritten.
inline constexpr uint32_t kNotOnlyWritten = UINT32_MAX;
uint32_t fold_vectors(asmjit::InstNode& node, FindSpilled find);

}  // namespace hologram::jit
