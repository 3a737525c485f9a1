#include "llm/block_types.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "core/half.hpp"
#include "llm/decoders-inl.hpp"

namespace hologram::llm {
namespace {

using program::Builder;
using program::Value;

class HostBlock {
 public:
  using Bits = uint32_t;
  using Real = float;
  HostBlock(const std::byte* block, float* to) : block_(block), to_(to) {}

  Bits byte(uint32_t k) const { return std::to_integer<Bits>(block_[k]); }
  Bits bits(uint32_t k, uint32_t shift, uint32_t mask) const { return byte(k) >> shift & mask; }
  Real sbyte(uint32_t k) const { return static_cast<int8_t>(byte(k)); }
  Real half(uint32_t k) const {
    return core::f16_to_f32(static_cast<uint16_t>(byte(k) | byte(k + 1) << 8));
  }
  Real single(uint32_t k) const {
    return std::bit_cast<float>(byte(k) | byte(k + 1) << 8 | byte(k + 2) << 16 | byte(k + 3) << 24);
  }
  Real brain(uint32_t k) const { return std::bit_cast<float>(byte(k) << 16 | byte(k + 1) << 24); }
  static Real real(Bits bits) { return static_cast<float>(bits); }
  static Real one() { return 1; }
  static Real lookup(Bits bits, const Codes& table) { return table[bits]; }
  static Real exponent(Bits bits) {
    return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : (bits - 1) << 23);
  }
  void group(Real scale, Real offset = 0) {
    scale_ = scale;
    offset_ = offset;
  }
  void put(uint32_t i, Real code) { to_[i] = code * scale_ + offset_; }

 private:
  Real scale_ = 0, offset_ = 0;
  const std::byte* block_;
  float* to_;
};

class EmittedBlock {
 public:
  using Bits = Value;
  using Real = Value;
  explicit EmittedBlock(const BlockCode& code) : code_(code), b_(code.builder) {}

  Bits bits(uint32_t k, uint32_t shift, uint32_t mask) {
    const uint32_t by = k % 4 * 8 + shift;
    const Bits moved = by == 0 ? word(k / 4) : word(k / 4) >> by;
    return by + static_cast<uint32_t>(std::bit_width(mask)) == 32 ? moved : moved & mask;
  }
  Real sbyte(uint32_t k) {
    const Value word = b_.bitcast(this->word(k / 4), DType::I32);
    const uint32_t left = 24 - k % 4 * 8;
    return b_.cast((left == 0 ? word : word << left) >> 24, DType::F32);
  }
  Real half(uint32_t k) {
    const Bits all = bits(k & ~1u, 0, 0xffff), magnitude = all & 0x7fff;
    const Bits sign = (all & 0x8000) << 16;
    // Denormals are whole multiples of 2^-24, on devices that flush those of f32, too.
    const Value small = b_.bitcast(real(magnitude) * 0x1p-24f, DType::U32);
    const Value usual = (magnitude << 13) + (112u << 23);
    return b_.bitcast(select(magnitude < 0x400, small, usual) | sign, DType::F32);
  }
  Real single(uint32_t k) { return b_.bitcast(word(k / 4), DType::F32); }
  Real brain(uint32_t k) { return b_.bitcast(bits(k & ~1u, 0, 0xffff) << 16, DType::F32); }
  Real one() const { return b_.constant(DType::F32, 1.0); }
  Real real(Bits bits) const { return b_.cast(b_.bitcast(bits, DType::I32), DType::F32); }
  // Four numbers a word: a word is chosen, and a byte of it.
  Real lookup(Bits bits, const Codes& table) const {
    const auto words = [&](uint32_t i) {
      uint32_t word = 0;
      std::memcpy(&word, table.data() + i * 4, 4);
      return b_.constant(DType::U32, static_cast<int64_t>(word));
    };
    const Value chosen = select(bits < 8, select(bits < 4, words(0), words(1)),
                                select(bits < 12, words(2), words(3)));
    const Value top = chosen << (24 - (bits & 3) * 8);
    return b_.cast(b_.bitcast(top, DType::I32) >> 24, DType::F32);
  }
  Real exponent(Bits bits) const {
    const Value few = b_.constant(DType::U32, int64_t{0x00200000}) << (bits & 1);
    return b_.bitcast(select(bits < 2, few, (bits - 1) << 23), DType::F32);
  }
  void group(Real scale, std::optional<Real> offset = {}) { code_.group(scale, offset); }
  void put(uint32_t i, Real code) { code_.put(i, code); }

 private:
  Value word(uint32_t k) {
    const auto known = words_.find(k);
    return known != words_.end() ? known->second : words_.emplace(k, code_.word(k)).first->second;
  }

  const BlockCode& code_;
  Builder& b_;
  std::map<uint32_t, Value> words_;
};

#define TYPE(name, elements, bytes, decoder)    \
  BlockType {                                   \
    name, elements, bytes,                      \
        [](const std::byte* block, float* to) { \
          HostBlock b(block, to);               \
          decoder(b);                           \
        },                                      \
        [](const BlockCode& code) {             \
          EmittedBlock b(code);                 \
          decoder(b);                           \
        }                                       \
  }
constexpr BlockType kTypes[] = {
    TYPE("Q4_0", 32, 18, decode_q4_0),     TYPE("Q4_1", 32, 20, decode_q4_1),
    TYPE("Q5_0", 32, 22, decode_q5_0),     TYPE("Q5_1", 32, 24, decode_q5_1),
    TYPE("Q8_0", 32, 34, decode_q8_0),     TYPE("Q2_K", 256, 84, decode_q2_k),
    TYPE("Q3_K", 256, 110, decode_q3_k),   TYPE("Q4_K", 256, 144, decode_q4_k),
    TYPE("Q5_K", 256, 176, decode_q5_k),   TYPE("Q6_K", 256, 210, decode_q6_k),
    TYPE("IQ4_NL", 32, 18, decode_iq4_nl), TYPE("IQ4_XS", 256, 136, decode_iq4_xs),
    TYPE("MXFP4", 32, 17, decode_mxfp4),
};
constexpr BlockType kPlain[] = {TYPE("F32", 16, 64, decode_f32), TYPE("F16", 16, 32, decode_f16),
                                TYPE("BF16", 16, 32, decode_bf16)};
#undef TYPE

}  // namespace

std::span<const BlockType> block_types() { return kTypes; }

const BlockType& plain_blocks(DType dtype) {
  return kPlain[dtype == DType::F32 ? 0 : dtype == DType::F16 ? 1 : 2];
}

const BlockType* block_type(std::string_view name) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const BlockType& type) { return type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

void decode_blocks(const BlockType& type, std::span<const std::byte> blocks, float* to) {
  for (size_t at = 0; at + type.bytes <= blocks.size(); at += type.bytes, to += type.elements)
    type.decode(blocks.data() + at, to);
}

}  // namespace hologram::llm
