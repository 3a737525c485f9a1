// Scales and codes for a few numbers: what all types of blocks look for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace hologram::llm {

// To the nearest whole number, ties to even, of numbers below 2^22: two additions, which compilers
// make vectors of.
inline float nearest(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

// x is about scale * code, with low <= code <= high.
struct Symmetric {
  int low, high;
};

inline float code_of(float x, float inverse, float low, float high) {
  return std::min(std::max(nearest(x * inverse), low), high);
}

// The scale with which codes lose least, of those around the one that takes the largest number to
// the end of the codes, each moved to where its codes' least squares are. 0 of zeros.
inline float fit(std::span<const float> x, Symmetric codes) {
  float largest = 0;
  for (const float each : x)
    if (std::abs(each) > std::abs(largest)) largest = each;
  if (largest == 0) return 0;
  const auto low = static_cast<float>(codes.low), high = static_cast<float>(codes.high);
  float best_scale = 0, best_gain = 0;
  for (int step = -8; step <= 8; step++) {
    // What is gained is (sum of x q)^2 / (sum of q q), as the best scale of these codes has it. The
    // largest goes to whichever end reaches farther.
    const float end = std::abs(low) > high ? low : high;
    const float inverse = (end + (end < 0 ? -0.1f : 0.1f) * static_cast<float>(step)) / largest;
    float products = 0, squares = 0;
    for (const float each : x) {
      const float code = code_of(each, inverse, low, high);
      products += each * code;
      squares += code * code;
    }
    if (squares > 0 && products * products > best_gain * squares) {
      best_gain = products * products / squares;
      best_scale = products / squares;
    }
  }
  return best_scale;
}

// x is about scale * code + offset, with 0 <= code <= levels.
struct Affine {
  float scale = 0, offset = 0;
};

// The same with an offset, which is at most 0 where `below_zero` says so.
inline Affine fit(std::span<const float> x, int levels, bool below_zero) {
  float low = x[0], high = x[0];
  for (const float each : x) {
    low = std::min(low, each);
    high = std::max(high, each);
  }
  if (below_zero) low = std::min(low, 0.0f);
  if (high <= low) return {0, low};
  const auto n = static_cast<float>(x.size()), top = static_cast<float>(levels);
  Affine best{(high - low) / top, low};
  float least = -1;
  for (int step = -6; step <= 12; step++) {
    const float inverse = (top + 0.1f * static_cast<float>(step)) / (high - low);
    float codes = 0, squares = 0, sum = 0, products = 0;
    for (const float each : x) {
      const float code = code_of(each - low, inverse, 0, top);
      codes += code;
      squares += code * code;
      sum += each;
      products += each * code;
    }
    const float determinant = n * squares - codes * codes;
    if (determinant <= 0) continue;
    Affine made{(n * products - sum * codes) / determinant,
                (squares * sum - codes * products) / determinant};
    if (below_zero && made.offset > 0) made = {products / squares, 0};
    float error = 0;
    for (const float each : x) {
      const float code = code_of(each - low, inverse, 0, top);
      const float lost = each - made.scale * code - made.offset;
      error += lost * lost;
    }
    if (least < 0 || error < least) {
      least = error;
      best = made;
    }
  }
  return best;
}

// x is about scale * table[code], for 16 ascending numbers.
using CodeTable = std::array<int8_t, 16>;
inline int nearest_code(float x, const CodeTable& table) {
  int code = 0;
  while (code < 15 && x > 0.5f * static_cast<float>(table[static_cast<size_t>(code)] +
                                                    table[static_cast<size_t>(code) + 1]))
    code++;
  return code;
}
inline float fit(std::span<const float> x, const CodeTable& table) {
  float largest = 0;
  for (const float each : x)
    if (std::abs(each) > std::abs(largest)) largest = each;
  if (largest == 0) return 0;
  float best_scale = 0, best_gain = 0;
  for (const int8_t end : {table.front(), table.back()})
    for (int step = -7; step <= 7; step++) {
      const float inverse =
          (static_cast<float>(end) + (end < 0 ? -1.0f : 1.0f) * static_cast<float>(step)) / largest;
      float products = 0, squares = 0;
      for (const float each : x) {
        const float value = table[static_cast<size_t>(nearest_code(each * inverse, table))];
        products += each * value;
        squares += value * value;
      }
      if (squares > 0 && products * products > best_gain * squares) {
        best_gain = products * products / squares;
        best_scale = products / squares;
      }
    }
  return best_scale;
}

}  // namespace hologram::llm
