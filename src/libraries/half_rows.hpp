// Rows of 16-bit floats as f32 and back, by vectors; with the bits of core/half.hpp.
#pragma once

#include <cstdint>

namespace hologram::libraries {

// For the best vector instructions of this processor.
struct HalfRows {
  void (*f16_to_f32)(const uint16_t* from, int64_t count, float* to);
  void (*f32_to_f16)(const float* from, int64_t count, uint16_t* to);
  void (*bf16_to_f32)(const uint16_t* from, int64_t count, float* to);
  void (*f32_to_bf16)(const float* from, int64_t count, uint16_t* to);
};
const HalfRows& half_rows();

}  // namespace hologram::libraries
