// What instructions are in a language: rows of patterns, the first of which that fits is taken.
// Kinds of types are bits, whose meaning is each language's own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hologram/op.hpp"

namespace hologram::dialects {

struct Pattern {
  program::Op op;
  uint8_t kinds;  // of the operands' type
  std::string_view text;
};

// Of casts and bitcasts, by both types.
struct Conversion {
  program::Op op;
  uint8_t to, from;
  std::string_view text;
};

// Empty if no row fits.
std::string_view find_pattern(std::span<const Pattern> patterns,
                              std::span<const Conversion> conversions, program::Op op, uint8_t to,
                              uint8_t from);

}  // namespace hologram::dialects
