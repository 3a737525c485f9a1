// Rows of 16-bit floats as f32 and back, by vectors; with the bits of core/half.hpp.
#pragma once

#include <cstdint>

#include "hologram/dtype.hpp"

namespace hologram::libraries {

// For the best vector instructions of this processor.
struct HalfConvert {
  void (*f16_to_f32)(const uint16_t* from, int64_t count, float* to);
  void (*f32_to_f16)(const float* from, int64_t count, uint16_t* to);
  void (*bf16_to_f32)(const uint16_t* from, int64_t count, float* to);
  void (*f32_to_bf16)(const float* from, int64_t count, uint16_t* to);

  // Those of F16, or of BF16.
  auto widen(DType type) const { return type == DType::F16 ? f16_to_f32 : bf16_to_f32; }
  auto narrow(DType type) const { return type == DType::F16 ? f32_to_f16 : f32_to_bf16; }
};
const HalfConvert& half_convert();

}  // namespace hologram::libraries
