// Transcendental instructions as arithmetic, for devices that print programs.
#pragma once

#include "program/ir.hpp"

namespace hologram::program {

// The module with each transcendental instruction of its body replaced by its expansion; other
// instructions keep their order. Values are numbered afresh. Host code, which runs on the CPU,
// stays as it is. `chosen`, if given, says which instructions to replace.
Module expand_functions(const Module& module, bool (*chosen)(const Inst&) = nullptr);

}  // namespace hologram::program
