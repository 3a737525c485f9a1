#include "oracle/random_values.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace hologram::oracle {
namespace {

uint64_t mask_of(DType t) {
  return t == DType::Bool ? 1 : size_of(t) == 4 ? UINT32_MAX : UINT64_MAX;
}

uint64_t float_bits(DType t, double value) {
  return t == DType::F32 ? std::bit_cast<uint32_t>(static_cast<float>(value))
                         : std::bit_cast<uint64_t>(value);
}

std::vector<uint64_t> integers(DType t) {
  std::set<uint64_t> found;
  const auto add = [&](uint64_t value) { found.insert(value & mask_of(t)); };
  for (const uint64_t v : {0, 1, 2, 3, 5, 7, 10, 100, 127, 255}) add(v), add(-v);
  for (unsigned bit = 4; bit < 8 * size_of(t); bit += 3) {
    const uint64_t power = uint64_t{1} << bit;
    add(power), add(power - 1), add(-power);
  }
  for (const uint64_t top : {uint64_t{1} << 31, uint64_t{1} << 63, uint64_t{1} << 32})
    add(top), add(top - 1), add(top + 1);
  return {found.begin(), found.end()};
}

std::vector<uint64_t> floats(DType t) {
  std::set<uint64_t> found;
  const auto add = [&](double value) {
    found.insert(float_bits(t, value));
    found.insert(float_bits(t, -value));
  };
  const auto around = [&](double value) {
    const uint64_t bits = float_bits(t, value);
    for (const uint64_t b : {bits, bits - 1, bits + 1}) {
      found.insert(b);
      found.insert(b | (uint64_t{1} << (8 * size_of(t) - 1)));
    }
  };
  const bool single = t == DType::F32;
  add(0), add(0.5), add(1.5), add(2.5), add(3.25), add(10), add(0x1p-24), add(1.0 / 3);
  add(std::numeric_limits<double>::infinity()), add(std::numeric_limits<double>::quiet_NaN());
  for (const double v : {1.0, 2.0, 0.49999997, 0x1p23, 0x1p52, 0x1p31, 0x1p32, 0x1p63, 0x1p64})
    around(v);
  around(65504), around(65520), around(0x1p-14), around(0x1p-25);  // f16
  add(single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max());
  around(single ? 0x1p-126 : 0x1p-1022);
  add(single ? 0x1p-149 : 0x1p-1074), add(single ? 0x1p-140 : 0x1p-1050);
  add(single ? 0x1.fffep127 : 0x1.fffffp1023), add(single ? 0x1p-63 : 0x1p-511);
  return {found.begin(), found.end()};
}

}  // namespace

std::span<const uint64_t> special_values(DType t) {
  static const auto table = [] {
    std::array<std::vector<uint64_t>, kDTypeCount> lists;
    for (size_t i = 0; i < kDTypeCount; i++) {
      const auto type = static_cast<DType>(i);
      if (!is_compute_type(type)) continue;
      lists[i] = type == DType::Bool ? std::vector<uint64_t>{0, 1}
                 : is_float(type)    ? floats(type)
                                     : integers(type);
    }
    return lists;
  }();
  return table[static_cast<size_t>(t)];
}

uint64_t moderate_value(DType t, Choices& choices) {
  if (t == DType::Bool) return choices.below(2);
  const auto whole = static_cast<int64_t>(choices.below(64)) - (is_unsigned_integer(t) ? 0 : 16);
  if (is_integer(t)) return static_cast<uint64_t>(whole) & mask_of(t);
  return float_bits(t, static_cast<double>(whole) / choices.of({1.0, 4.0, 3.0, 10.0}));
}

uint64_t random_value(DType t, Choices& choices) {
  switch (choices.below(3)) {
    case 0: return moderate_value(t, choices);
    case 1: {
      const auto list = special_values(t);
      return list[choices.below(static_cast<uint32_t>(list.size()))];
    }
    default: break;
  }
  uint64_t bits = choices.bits();
  // Floats get exponents near each other half of the time; integers any length.
  if (is_float(t) && choices.below(2) == 0) {
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53 + 1;
    const double value = std::ldexp(fraction, static_cast<int>(choices.below(40)) - 20);
    return float_bits(t, bits & 1 ? value : -value);
  }
  if (is_integer(t)) {
    bits >>= choices.below(static_cast<uint32_t>(8 * size_of(t)));
    if (choices.below(2) == 0) bits = -bits;
  }
  return bits & mask_of(t);
}

}  // namespace hologram::oracle
