// Registers for a compiled function, given out in one look along its instructions.
#pragma once

#include <asmjit/x86.h>

#include <span>
#include <utility>

namespace hologram::jit {

// A part of a function that stands behind the rest and is seldom run: where it begins, and the
// label in the midst of the rest that it goes back to.
using Aside = std::pair<asmjit::Label, asmjit::Label>;

// Puts registers of the processor in place of the virtual ones of a function that is complete, and
// its prologue and epilogue around it. False, and nothing has changed, where an instruction needs
// more than can be had that way: AsmJit's own allocator, which takes several times as long, finds
// some.
bool give_registers(asmjit::x86::Compiler& code, asmjit::FuncNode& function,
                    std::span<const Aside> asides, bool avx512);

}  // namespace hologram::jit
