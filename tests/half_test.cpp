#include "core/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hologram::core {
namespace {

// The value of a float with `fraction` mantissa bits and a bias, by its definition.
double value_of(uint16_t bits, int fraction, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction;
  const double mantissa = bits & ((1 << fraction) - 1);
  const double scale = 1 << fraction;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa / scale, 1 - bias)
                                         : std::ldexp(1 + mantissa / scale, exponent - bias);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <class Widen, class Narrow>
void check(int fraction, int bias, Widen widen, Narrow narrow) {
  const int infinity = ((0x7fff >> fraction) << fraction);
  const int quiet = 1 << (fraction - 1);
  for (int i = 0; i < 65536; i++) {
    const auto bits = static_cast<uint16_t>(i);
    const float wide = widen(bits);
    if ((i & 0x7fff) > infinity) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      ASSERT_TRUE(std::bit_cast<uint32_t>(wide) & 1u << 22) << i;
      ASSERT_EQ(narrow(wide), bits | quiet) << i;
      continue;
    }
    ASSERT_EQ(narrow(wide), bits) << i;
    if ((i & 0x7fff) == infinity) {
      ASSERT_TRUE(std::isinf(wide) && std::signbit(wide) == (i >= 0x8000)) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), value_of(bits, fraction, bias)) << i;
    ASSERT_EQ(std::signbit(wide), i >= 0x8000) << i;
    // The middle between this value and the next further from zero, and its neighbours. Beyond the
    // largest value the next one is where infinity would be.
    const double next = value_of(static_cast<uint16_t>(i + 1), fraction, bias);
    const double exact = (static_cast<double>(wide) + next) / 2;
    if (std::abs(exact) > std::numeric_limits<float>::max()) continue;
    const auto middle = static_cast<float>(exact);
    if (static_cast<double>(middle) != exact) continue;  // below the smallest f32
    const float outside = std::copysign(std::numeric_limits<float>::infinity(), wide);
    ASSERT_EQ(narrow(middle), i % 2 == 0 ? i : i + 1) << i;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), i) << i;
    ASSERT_EQ(narrow(std::nextafter(middle, outside)), i + 1) << i;
  }
}

TEST(Half, F16IsExactBothWays) { check(10, 15, f16_to_f32, f32_to_f16); }
TEST(Half, BF16IsExactBothWays) { check(7, 127, bf16_to_f32, f32_to_bf16); }

TEST(Half, ExtremesOfF32) {
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  // A signalling NaN whose payload is cut off must not become infinity.
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xff800001u)), 0xffc0);
}

}  // namespace
}  // namespace hologram::core
