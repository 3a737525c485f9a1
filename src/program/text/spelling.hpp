// How constants and operations are written.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "program/ir.hpp"

namespace hologram::program {

// A constant as a number that takes its type from its surroundings, and as one with its own.
std::string weak_literal(DType type, uint64_t bits);
std::string typed_literal(DType type, uint64_t bits);

// An operand or expression as text.
struct Phrase {
  static constexpr int kOperand = 12;  // a name, a call, a number
  static constexpr int kUnary = 11;

  std::string text;
  int level = kOperand;            // how tightly its outermost operator binds
  std::string negated{};           // of a Not: what it is of
  bool source = false;             // depends on nothing
  const Inst* constant = nullptr;  // a Const: written when it is known whether a type is needed
};

// The operand where a value of its type is wanted, and where its type does not follow.
std::string weak_text(const Phrase& phrase);
std::string typed_text(const Phrase& phrase);

// A pure operation on its operands.
Phrase operation(const Inst& inst, const std::array<Phrase, 3>& given);

}  // namespace hologram::program
