// Conversions between f32 and the two 16-bit floats: to the nearest, ties to even; denormals are
// kept; NaN stays NaN and becomes quiet. Right also where a thread flushes f32 denormals.
#pragma once

#include <bit>
#include <cstdint>

namespace hologram::core {

inline float f16_to_f32(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  uint32_t bits = magnitude + (112u << 23);
  if (magnitude < 1u << 23) {
    // Denormal: the mantissa under the implicit one of 2^-14, which is then taken away.
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(bits + (1u << 23)) - 0x1p-14f);
  } else if (magnitude >= 31u << 23) {
    bits = magnitude | 0x7f800000u | (magnitude > 31u << 23 ? 1u << 22 : 0u);
  }
  return std::bit_cast<float>(sign | bits);
}

inline uint16_t f32_to_f16(float value) {
  const auto all = std::bit_cast<uint32_t>(value);
  const uint32_t sign = all >> 16 & 0x8000u;
  const uint32_t bits = all & 0x7fffffffu;
  uint32_t half;
  if (bits >= 0x477ff000u) {
    // From 65520 on: infinity; NaN keeps the upper bits of its payload.
    half = bits > 0x7f800000u ? 0x7e00u | (bits >> 13 & 0x3ffu) : 0x7c00u;
  } else if (bits < 113u << 23) {
    // Below 2^-14: the addition aligns the mantissa to multiples of 2^-24, and rounds.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - (126u << 23);
  } else {
    half = (bits + 0xfffu + (bits >> 13 & 1u) - (112u << 23)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

inline float bf16_to_f32(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return std::bit_cast<float>(bits | (nan ? 1u << 22 : 0u));
}

inline uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace hologram::core
