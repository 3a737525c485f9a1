// Parts of blocks as instructions, which both ways of multiplying them need.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "hologram/builder.hpp"

namespace hologram::llm {

// The f16 whose bits these are. Denormals are whole multiples of 2^-24, on devices that flush those
// of f32, too.
inline program::Value emit_half(program::Builder& b, program::Value bits) {
  const program::Value magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
  const program::Value whole = b.cast(b.bitcast(magnitude, DType::I32), DType::F32);
  const program::Value small = b.bitcast(whole * 0x1p-24f, DType::U32);
  const program::Value usual = (magnitude << 13) + (112u << 23);
  const program::Value large = select(magnitude < 0x7c00, usual, usual + (112u << 23));
  return b.bitcast(select(magnitude < 0x400, small, large) | sign, DType::F32);
}

// 2^(bits - 128).
inline program::Value emit_exponent(program::Builder& b, program::Value bits) {
  const program::Value few = b.constant(DType::U32, int64_t{0x00200000}) << (bits & 1);
  return b.bitcast(select(bits < 2, few, (bits - 1) << 23), DType::F32);
}

// One of sixteen bytes, in the top byte of a word. Four stand in a word: that is chosen, and a byte
// of it.
inline program::Value emit_lookup(program::Builder& b, program::Value place,
                                  const std::array<int8_t, 16>& table) {
  const auto words = [&](size_t i) {
    uint32_t word = 0;
    std::memcpy(&word, table.data() + i * 4, 4);
    return b.constant(DType::U32, static_cast<int64_t>(word));
  };
  const program::Value chosen = select(place < 8, select(place < 4, words(0), words(1)),
                                       select(place < 12, words(2), words(3)));
  return chosen << (24 - (place & 3) * 8);
}

}  // namespace hologram::llm
