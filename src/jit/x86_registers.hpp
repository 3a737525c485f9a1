// Registers for a compiled function, given out in one look along its instructions.
#pragma once

#include <asmjit/x86.h>

#include <utility>
#include <vector>

namespace hologram::jit {

// Parts of a function that are seldom run, from one label to another: those that stand behind the
// rest, of which the second label is where they go back to, and those in the midst of it.
struct Parts {
  std::vector<std::pair<asmjit::Label, asmjit::Label>> asides, seldom;
};

// Puts registers of the processor in place of the virtual ones of a function that is complete, and
// its prologue and epilogue around it. False, and nothing has changed, where an instruction needs
// more than can be had that way: AsmJit's own allocator, which takes several times as long, finds
// some.
bool give_registers(asmjit::x86::Compiler& code, asmjit::FuncNode& function, const Parts& parts,
                    bool avx512);

}  // namespace hologram::jit
