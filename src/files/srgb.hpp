// The transfer functions of sRGB, IEC 61966-2-1.
#pragma once

#include <cmath>

namespace hologram::files::srgb {

// From the stored value to linear light, both 0 to 1.
inline float decode(float v) {
  return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
}

// From linear light to the stored value.
inline float encode(float v) {
  return v <= 0.0031308f ? v * 12.92f : 1.055f * std::pow(v, 1.0f / 2.4f) - 0.055f;
}

}  // namespace hologram::files::srgb
