// What the numbers in blocks mean, as the reference of ggml has it: written once over an arithmetic
// that either computes on the host or emits instructions. Offsets are constants, so that each field
// costs a shift and a mask at most. Elements come in groups that share a scale, and perhaps an
// offset: what is summed up need not be scaled one by one. Products of scales and codes are exact
// but where noted, so that it makes no difference whether a sum with them is one fma or two
// operations.
#pragma once

#include <cstdint>

#include "libraries/blocks/layout.hpp"

namespace hologram::llm {

// `B` has Bits (32 bits without a sign), Real (f32), and
//   byte(k), u16(k)      the field that begins at byte k, as Bits
//   bits(k, shift, mask) byte(k) >> shift & mask; shift may pass the byte's end for wider fields
//   single(k), brain(k)  the f32, the bf16 at byte k, Real; one() is 1
//   sbyte(k)             byte k as a signed number, Real
//   half(k)              the f16 at byte k, Real
//   real(bits)           a small number as Real
//   lookup(bits, table)  one of 16 small whole numbers, Real
//   exponent(bits)       2^(bits - 128), as MXFP4's scales are stored
//   group(scale)         begins a group: its elements are code * scale,
//   group(scale, offset) or code * scale + offset
//   put(i, code)         element i of the block
using libraries::blocks::Codes;
using libraries::blocks::kFp4;
using libraries::blocks::kNonLinear;

template <class B>
void decode_f32(B& b) {
  b.group(b.one());
  for (uint32_t j = 0; j < 16; j++) b.put(j, b.single(4 * j));
}
template <class B>
void decode_f16(B& b) {
  b.group(b.one());
  for (uint32_t j = 0; j < 16; j++) b.put(j, b.half(2 * j));
}
template <class B>
void decode_bf16(B& b) {
  b.group(b.one());
  for (uint32_t j = 0; j < 16; j++) b.put(j, b.brain(2 * j));
}

template <class B>
void decode_q4(B& b, uint32_t codes, typename B::Real scale, typename B::Real offset) {
  b.group(scale, offset);
  for (uint32_t j = 0; j < 16; j++) {
    b.put(j, b.real(b.bits(codes + j, 0, 15)));
    b.put(j + 16, b.real(b.bits(codes + j, 4, 15)));
  }
}
template <class B>
void decode_q4_0(B& b) {
  const auto d = b.half(0);
  decode_q4(b, 2, d, d * -8.0f);
}
template <class B>
void decode_q4_1(B& b) {
  const auto d = b.half(0), m = b.half(2);
  decode_q4(b, 4, d, m);
}

template <class B>
void decode_q5(B& b, uint32_t high, typename B::Real scale, typename B::Real offset) {
  const uint32_t codes = high + 4;
  b.group(scale, offset);
  for (uint32_t j = 0; j < 16; j++) {
    const auto fifth = [&](uint32_t i) { return b.bits(high + i / 8, i % 8, 1) << 4; };
    b.put(j, b.real(b.bits(codes + j, 0, 15) | fifth(j)));
    b.put(j + 16, b.real(b.bits(codes + j, 4, 15) | fifth(j + 16)));
  }
}
template <class B>
void decode_q5_0(B& b) {
  const auto d = b.half(0);
  decode_q5(b, 2, d, d * -16.0f);
}
template <class B>
void decode_q5_1(B& b) {
  const auto d = b.half(0), m = b.half(2);
  decode_q5(b, 4, d, m);
}

template <class B>
void decode_q8_0(B& b) {
  b.group(b.half(0));
  for (uint32_t j = 0; j < 32; j++) b.put(j, b.sbyte(2 + j));
}

template <class B>
void decode_q2_k(B& b) {
  const auto d = b.half(80), m = b.half(82);
  for (uint32_t part = 0; part < 16; part++) {  // of 16 elements
    const auto scale = d * b.real(b.bits(part, 0, 15));
    const auto offset = m * b.real(b.bits(part, 4, 15)) * -1.0f;
    const uint32_t codes = 16 + part / 8 * 32 + part % 2 * 16, shift = part % 8 / 2 * 2;
    b.group(scale, offset);
    for (uint32_t l = 0; l < 16; l++) b.put(part * 16 + l, b.real(b.bits(codes + l, shift, 3)));
  }
}

template <class B>
void decode_q3_k(B& b) {
  const auto d = b.half(108);
  for (uint32_t part = 0; part < 16; part++) {
    const auto low = b.bits(96 + part % 8, part / 8 * 4, 15);
    const auto high = b.bits(104 + part % 4, part / 4 * 2, 3);
    const auto scale = d * (b.real(low | high << 4) - 32.0f);
    const uint32_t codes = 32 + part / 8 * 32 + part % 2 * 16, shift = part % 8 / 2 * 2;
    b.group(scale);
    for (uint32_t l = 0; l < 16; l++) {
      const auto third = b.bits(part % 2 * 16 + l, part / 2, 1) << 2;  // without it 4 less
      b.put(part * 16 + l, b.real(b.bits(codes + l, shift, 3) | third) - 4.0f);
    }
  }
}

// The six bits of scale or minimum `j` of eight, packed into 12 bytes at `from`.
template <class B>
typename B::Bits six_bits(B& b, uint32_t from, uint32_t j, bool minimum) {
  if (j < 4) return b.bits(from + j + (minimum ? 4 : 0), 0, 63);
  const auto low = b.bits(from + j + 4, minimum ? 4 : 0, 15);
  return low | b.bits(from + j - (minimum ? 0 : 4), 6, 3) << 4;
}
template <class B>
void decode_q4_k(B& b) {
  const auto d = b.half(0), m = b.half(2);
  for (uint32_t part = 0; part < 8; part++) {  // of 32 elements
    const auto scale = d * b.real(six_bits(b, 4, part, false));
    const auto offset = m * b.real(six_bits(b, 4, part, true)) * -1.0f;
    b.group(scale, offset);
    for (uint32_t l = 0; l < 32; l++) {
      const auto code = b.bits(16 + part / 2 * 32 + l, part % 2 * 4, 15);
      b.put(part * 32 + l, b.real(code));
    }
  }
}
template <class B>
void decode_q5_k(B& b) {
  const auto d = b.half(0), m = b.half(2);
  for (uint32_t part = 0; part < 8; part++) {
    const auto scale = d * b.real(six_bits(b, 4, part, false));
    const auto offset = m * b.real(six_bits(b, 4, part, true)) * -1.0f;
    b.group(scale, offset);
    for (uint32_t l = 0; l < 32; l++) {
      const auto code = b.bits(48 + part / 2 * 32 + l, part % 2 * 4, 15);
      const auto fifth = b.bits(16 + l, part, 1) << 4;
      b.put(part * 32 + l, b.real(code | fifth));
    }
  }
}

// Its products have up to 25 bits: scale first, as the reference does it.
template <class B>
void decode_q6_k(B& b) {
  const auto d = b.half(208);
  for (uint32_t part = 0; part < 16; part++) {
    const auto scale = d * b.sbyte(192 + part);
    const uint32_t half = part / 8, quarter = part % 8 / 2;
    b.group(scale);
    for (uint32_t i = 0; i < 16; i++) {
      const uint32_t l = part % 2 * 16 + i;
      const auto low = b.bits(half * 64 + quarter % 2 * 32 + l, quarter / 2 * 4, 15);
      const auto high = b.bits(128 + half * 32 + l, quarter * 2, 3);
      b.put(part * 16 + i, b.real(low | high << 4) - 32.0f);
    }
  }
}

template <class B>
void decode_codes(B& b, uint32_t codes, uint32_t first, const Codes& table,
                  typename B::Real scale) {
  b.group(scale);
  for (uint32_t j = 0; j < 16; j++) {
    b.put(first + j, b.lookup(b.bits(codes + j, 0, 15), table));
    b.put(first + j + 16, b.lookup(b.bits(codes + j, 4, 15), table));
  }
}
template <class B>
void decode_iq4_nl(B& b) {
  decode_codes(b, 2, 0, kNonLinear, b.half(0));
}
template <class B>
void decode_iq4_xs(B& b) {
  const auto d = b.half(0);
  for (uint32_t part = 0; part < 8; part++) {
    const auto low = b.bits(4 + part / 2, part % 2 * 4, 15);
    const auto high = b.bits(2 + part / 4, part % 4 * 2, 3);
    const auto scale = d * (b.real(low | high << 4) - 32.0f);
    decode_codes(b, 8 + part * 16, part * 32, kNonLinear, scale);
  }
}
template <class B>
void decode_mxfp4(B& b) {
  decode_codes(b, 1, 0, kFp4, b.exponent(b.bits(0, 0, 255)));
}

}  // namespace hologram::llm
