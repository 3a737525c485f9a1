#include "llm/block_encoding.hpp"

#include <bit>
#include <cstring>

#include "core/half.hpp"
#include "llm/block_fitting.hpp"
#include "llm/decoders-inl.hpp"

namespace hologram::llm {
namespace {

// The bytes of a block, all 0 in the beginning.
class Block {
 public:
  explicit Block(std::byte* bytes) : bytes_(bytes) {}

  void put(uint32_t byte, uint32_t shift, uint32_t value) {
    bytes_[byte] |= static_cast<std::byte>(value << shift & 0xff);
  }
  // An f16, and the number that it became.
  float half(uint32_t byte, float value) {
    const uint16_t bits = core::f32_to_f16(std::clamp(value, -65504.0f, 65504.0f));
    put(byte, 0, bits & 0xff);
    put(byte + 1, 0, bits >> 8);
    return core::f16_to_f32(bits);
  }

 private:
  std::byte* bytes_;
};

float inverse_of(float scale) { return scale == 0 ? 0 : 1 / scale; }

uint32_t unsigned_code(float x, float scale, float low, float high) {
  return static_cast<uint32_t>(static_cast<int>(code_of(x, inverse_of(scale), low, high) - low));
}

// Blocks of 32 with 4 or 5 bits a number, and a scale, and perhaps an offset.
void put_small(Block& block, uint32_t header, int bits, uint32_t i, uint32_t code) {
  const uint32_t codes = header + (bits == 5 ? 4 : 0);
  block.put(codes + i % 16, i / 16 * 4, code & 15);
  if (bits == 5) block.put(header + i / 8, i % 8, code >> 4);
}
template <int kBits>
void encode_symmetric(const float* x, std::byte* to) {
  constexpr int kHalf = 1 << (kBits - 1);
  Block block(to);
  const float scale = block.half(0, fit({x, 32}, Symmetric{-kHalf, kHalf - 1}));
  for (uint32_t i = 0; i < 32; i++)
    put_small(block, 2, kBits, i, unsigned_code(x[i], scale, -kHalf, kHalf - 1));
}
template <int kBits>
void encode_affine(const float* x, std::byte* to) {
  constexpr int kTop = (1 << kBits) - 1;
  Block block(to);
  const Affine made = fit({x, 32}, kTop, false);
  const float scale = block.half(0, made.scale), offset = block.half(2, made.offset);
  for (uint32_t i = 0; i < 32; i++)
    put_small(block, 4, kBits, i, unsigned_code(x[i] - offset, scale, 0, kTop));
}

void encode_q8_0(const float* x, std::byte* to) {
  Block block(to);
  float largest = 0;
  for (uint32_t i = 0; i < 32; i++) largest = std::max(largest, std::abs(x[i]));
  const float scale = block.half(0, largest / 127);
  for (uint32_t i = 0; i < 32; i++)
    block.put(2 + i, 0,
              static_cast<uint32_t>(static_cast<int>(code_of(x[i], inverse_of(scale), -127, 127))));
}

// Groups of a large block, whose scales have a scale in common, and so perhaps their offsets.
template <uint32_t kGroups>
struct AffineGroups {
  std::array<uint32_t, kGroups> scales{}, offsets{};
  float scale = 0, offset = 0;  // what the codes of scales and offsets are multiplied with

  void code(const float* x, uint32_t group, int top, uint32_t* codes) const {
    constexpr uint32_t kLength = 256 / kGroups;
    const float s = scale * static_cast<float>(scales[group]),
                o = offset * static_cast<float>(offsets[group]);
    for (uint32_t i = 0; i < kLength; i++)
      codes[i] = unsigned_code(x[group * kLength + i] + o, s, 0, static_cast<float>(top));
  }
};
template <uint32_t kGroups>
AffineGroups<kGroups> fit_groups(const float* x, int top, int scale_top, Block& block,
                                 uint32_t scale_at, uint32_t offset_at) {
  constexpr uint32_t kLength = 256 / kGroups;
  std::array<Affine, kGroups> made;
  float largest = 0, lowest = 0;
  for (uint32_t g = 0; g < kGroups; g++) {
    made[g] = fit({x + g * kLength, kLength}, top, true);
    largest = std::max(largest, made[g].scale);
    lowest = std::min(lowest, made[g].offset);
  }
  AffineGroups<kGroups> groups;
  const auto most = static_cast<float>(scale_top);
  groups.scale = block.half(scale_at, largest / most);
  groups.offset = block.half(offset_at, -lowest / most);
  for (uint32_t g = 0; g < kGroups; g++) {
    groups.scales[g] = unsigned_code(made[g].scale, groups.scale, 0, most);
    groups.offsets[g] = unsigned_code(-made[g].offset, groups.offset, 0, most);
  }
  return groups;
}

void encode_q2_k(const float* x, std::byte* to) {
  Block block(to);
  const auto groups = fit_groups<16>(x, 3, 15, block, 80, 82);
  uint32_t codes[16];
  for (uint32_t part = 0; part < 16; part++) {
    block.put(part, 0, groups.scales[part] | groups.offsets[part] << 4);
    groups.code(x, part, 3, codes);
    const uint32_t at = 16 + part / 8 * 32 + part % 2 * 16, shift = part % 8 / 2 * 2;
    for (uint32_t l = 0; l < 16; l++) block.put(at + l, shift, codes[l]);
  }
}

// Six bits each of eight scales and eight offsets, in 12 bytes.
void put_six_bits(Block& block, uint32_t from, uint32_t j, uint32_t scale, uint32_t offset) {
  if (j < 4) {
    block.put(from + j, 0, scale);
    block.put(from + j + 4, 0, offset);
    return;
  }
  block.put(from + j + 4, 0, (scale & 15) | (offset & 15) << 4);
  block.put(from + j - 4, 6, scale >> 4);
  block.put(from + j, 6, offset >> 4);
}
template <int kBits>
void encode_q45_k(const float* x, std::byte* to) {
  constexpr int kTop = (1 << kBits) - 1;
  constexpr uint32_t kCodes = kBits == 5 ? 48 : 16;
  Block block(to);
  const auto groups = fit_groups<8>(x, kTop, 63, block, 0, 2);
  uint32_t codes[32];
  for (uint32_t part = 0; part < 8; part++) {
    put_six_bits(block, 4, part, groups.scales[part], groups.offsets[part]);
    groups.code(x, part, kTop, codes);
    for (uint32_t l = 0; l < 32; l++) {
      block.put(kCodes + part / 2 * 32 + l, part % 2 * 4, codes[l] & 15);
      if (kBits == 5) block.put(16 + l, part, codes[l] >> 4);
    }
  }
}

// Groups with scales of either sign: the codes of scales reach from `low` to `high`, and the scale
// that is farthest from 0 has the lowest.
template <uint32_t kGroups>
struct SignedGroups {
  std::array<int, kGroups> scales{};
  float scale = 0;
  float of(uint32_t group) const { return scale * static_cast<float>(scales[group]); }
};
template <uint32_t kGroups, class Fit>
SignedGroups<kGroups> fit_signed(const float* x, int low, int high, Block& block, uint32_t scale_at,
                                 const Fit& fit_group) {
  constexpr uint32_t kLength = 256 / kGroups;
  std::array<float, kGroups> made;
  float largest = 0;
  for (uint32_t g = 0; g < kGroups; g++) {
    made[g] = fit_group(std::span(x + g * kLength, kLength));
    if (std::abs(made[g]) > std::abs(largest)) largest = made[g];
  }
  SignedGroups<kGroups> groups;
  groups.scale = block.half(scale_at, largest / static_cast<float>(low));
  for (uint32_t g = 0; g < kGroups; g++)
    groups.scales[g] = static_cast<int>(code_of(made[g], inverse_of(groups.scale),
                                                static_cast<float>(low), static_cast<float>(high)));
  return groups;
}

void encode_q3_k(const float* x, std::byte* to) {
  Block block(to);
  const auto groups = fit_signed<16>(x, -32, 31, block, 108, [](std::span<const float> part) {
    return fit(part, Symmetric{-4, 3});
  });
  for (uint32_t part = 0; part < 16; part++) {
    const auto scale = static_cast<uint32_t>(groups.scales[part] + 32);
    block.put(96 + part % 8, part / 8 * 4, scale & 15);
    block.put(104 + part % 4, part / 4 * 2, scale >> 4);
    const uint32_t at = 32 + part / 8 * 32 + part % 2 * 16, shift = part % 8 / 2 * 2;
    for (uint32_t l = 0; l < 16; l++) {
      const uint32_t code = unsigned_code(x[part * 16 + l], groups.of(part), -4, 3);
      block.put(at + l, shift, code & 3);
      block.put(part % 2 * 16 + l, part / 2, code >> 2);
    }
  }
}

void encode_q6_k(const float* x, std::byte* to) {
  Block block(to);
  const auto groups = fit_signed<16>(x, -128, 127, block, 208, [](std::span<const float> part) {
    return fit(part, Symmetric{-32, 31});
  });
  for (uint32_t part = 0; part < 16; part++) {
    block.put(192 + part, 0, static_cast<uint32_t>(groups.scales[part]));
    const uint32_t half = part / 8, quarter = part % 8 / 2;
    for (uint32_t i = 0; i < 16; i++) {
      const uint32_t l = part % 2 * 16 + i;
      const uint32_t code = unsigned_code(x[part * 16 + i], groups.of(part), -32, 31);
      block.put(half * 64 + quarter % 2 * 32 + l, quarter / 2 * 4, code & 15);
      block.put(128 + half * 32 + l, quarter * 2, code >> 4);
    }
  }
}

void put_codes(Block& block, uint32_t at, const float* x, float scale) {
  for (uint32_t i = 0; i < 32; i++) {
    const int code = nearest_code(x[i] * inverse_of(scale), kNonLinear);
    block.put(at + i % 16, i / 16 * 4, static_cast<uint32_t>(code));
  }
}
void encode_iq4_nl(const float* x, std::byte* to) {
  Block block(to);
  put_codes(block, 2, x, block.half(0, fit({x, 32}, kNonLinear)));
}
void encode_iq4_xs(const float* x, std::byte* to) {
  Block block(to);
  const auto groups = fit_signed<8>(
      x, -32, 31, block, 0, [](std::span<const float> part) { return fit(part, kNonLinear); });
  for (uint32_t part = 0; part < 8; part++) {
    const auto scale = static_cast<uint32_t>(groups.scales[part] + 32);
    block.put(4 + part / 2, part % 2 * 4, scale & 15);
    block.put(2 + part / 4, part % 4 * 2, scale >> 4);
    put_codes(block, 8 + part * 16, x + size_t{part} * 32, groups.of(part));
  }
}

// Of the powers of two near the one that takes the largest number, the one that loses least.
void encode_mxfp4(const float* x, std::byte* to) {
  constexpr CodeTable kAscending = {-12, -8, -6, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 6, 8, 12};
  const auto code = [&](float number) {
    const int place = nearest_code(number, kAscending);
    return static_cast<uint32_t>(place >= 8 ? place - 8 : place == 7 ? 0 : 15 - place);
  };
  float largest = 0;
  for (uint32_t i = 0; i < 32; i++) largest = std::max(largest, std::abs(x[i]));
  const int middle = largest == 0 ? 0 : std::ilogb(largest) - 3 + 128;
  int best = 0;
  float least = -1;
  for (int exponent = std::max(middle - 1, 0); exponent <= std::min(middle + 1, 254); exponent++) {
    const float scale = std::ldexp(1.0f, exponent - 128);
    float error = 0;
    for (uint32_t i = 0; i < 32; i++) {
      const float lost = x[i] - scale * static_cast<float>(kFp4[code(x[i] / scale)]);
      error += lost * lost;
    }
    if (least >= 0 && error >= least) continue;
    least = error;
    best = exponent;
  }
  Block block(to);
  block.put(0, 0, static_cast<uint32_t>(best));
  const float scale = std::ldexp(1.0f, best - 128);
  for (uint32_t i = 0; i < 32; i++) block.put(1 + i % 16, i / 16 * 4, code(x[i] / scale));
}

struct Row {
  std::string_view name;
  void (*encode)(const float* x, std::byte* to);
};
constexpr Row kEncoders[] = {
    {"Q4_0", encode_symmetric<4>}, {"Q4_1", encode_affine<4>}, {"Q5_0", encode_symmetric<5>},
    {"Q5_1", encode_affine<5>},    {"Q8_0", encode_q8_0},      {"Q2_K", encode_q2_k},
    {"Q3_K", encode_q3_k},         {"Q4_K", encode_q45_k<4>},  {"Q5_K", encode_q45_k<5>},
    {"Q6_K", encode_q6_k},         {"IQ4_NL", encode_iq4_nl},  {"IQ4_XS", encode_iq4_xs},
    {"MXFP4", encode_mxfp4},
};

}  // namespace

bool encode_blocks(const BlockType& type, const float* numbers, int64_t count, std::byte* to) {
  for (const Row& row : kEncoders) {
    if (row.name != type.name) continue;
    // Beyond this no type of blocks has a scale, and squares would be infinite.
    constexpr float kMost = 1e9f;
    float finite[256];
    for (int64_t i = 0; i < count; i += type.elements, to += type.bytes) {
      for (uint32_t k = 0; k < type.elements; k++)
        finite[k] = std::isfinite(numbers[i + k]) ? std::clamp(numbers[i + k], -kMost, kMost) : 0;
      std::memset(to, 0, type.bytes);
      row.encode(finite, to);
    }
    return true;
  }
  return false;
}

}  // namespace hologram::llm
