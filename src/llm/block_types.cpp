#include "llm/block_types.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "core/half.hpp"
#include "llm/decoders-inl.hpp"
#include "llm/emitted.hpp"

namespace hologram::llm {
namespace {

using libraries::blocks::Layout;
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
  EmittedBlock(const BlockCode& code, const libraries::blocks::Layout& layout)
      : code_(code), b_(code.builder), layout_(layout) {}

  Bits bits(uint32_t k, uint32_t shift, uint32_t mask) {
    const uint32_t at = layout_.place(k), by = at % 4 * 8 + shift;
    const Bits moved = by == 0 ? word(at / 4) : word(at / 4) >> by;
    return by + static_cast<uint32_t>(std::bit_width(mask)) == 32 ? moved : moved & mask;
  }
  Real sbyte(uint32_t k) {
    const uint32_t at = layout_.place(k), left = 24 - at % 4 * 8;
    const Value word = b_.bitcast(this->word(at / 4), DType::I32);
    return b_.cast((left == 0 ? word : word << left) >> 24, DType::F32);
  }
  Real half(uint32_t k) { return emit_half(b_, bits(k & ~1u, 0, 0xffff)); }
  Real single(uint32_t k) { return b_.bitcast(word(k / 4), DType::F32); }
  Real brain(uint32_t k) { return b_.bitcast(bits(k & ~1u, 0, 0xffff) << 16, DType::F32); }
  Real one() const { return b_.constant(DType::F32, 1.0); }
  Real real(Bits bits) const { return b_.cast(b_.bitcast(bits, DType::I32), DType::F32); }
  Real lookup(Bits bits, const Codes& table) const {
    const Value top = emit_lookup(b_, bits, table);
    return b_.cast(b_.bitcast(top, DType::I32) >> 24, DType::F32);
  }
  Real exponent(Bits bits) const { return emit_exponent(b_, bits); }
  void group(Real scale, std::optional<Real> offset = {}) { code_.group(scale, offset); }
  void put(uint32_t i, Real code) { code_.put(i, code); }

 private:
  Value word(uint32_t k) {
    const auto known = words_.find(k);
    return known != words_.end() ? known->second : words_.emplace(k, code_.word(k)).first->second;
  }

  const BlockCode& code_;
  Builder& b_;
  const libraries::blocks::Layout& layout_;
  std::map<uint32_t, Value> words_;
};

#define TYPE(layout, decoder)                   \
  BlockType {                                   \
    layout,                                     \
        [](const std::byte* block, float* to) { \
          HostBlock b(block, to);               \
          decoder(b);                           \
        },                                      \
        [](const BlockCode& code) {             \
          static constexpr Layout kOf = layout; \
          EmittedBlock b(code, kOf);            \
          decoder(b);                           \
        }                                       \
  }
#define NAMED(name, decoder) TYPE(*libraries::blocks::layout_of(name), decoder)
constexpr BlockType kTypes[] = {
    NAMED("Q4_0", decode_q4_0),   NAMED("Q4_1", decode_q4_1),     NAMED("Q5_0", decode_q5_0),
    NAMED("Q5_1", decode_q5_1),   NAMED("Q8_0", decode_q8_0),     NAMED("Q2_K", decode_q2_k),
    NAMED("Q3_K", decode_q3_k),   NAMED("Q4_K", decode_q4_k),     NAMED("Q5_K", decode_q5_k),
    NAMED("Q6_K", decode_q6_k),   NAMED("IQ4_NL", decode_iq4_nl), NAMED("IQ4_XS", decode_iq4_xs),
    NAMED("MXFP4", decode_mxfp4),
};
static_assert(std::size(kTypes) == std::size(libraries::blocks::kLayouts));
constexpr BlockType kPlain[] = {TYPE((Layout{"F32", 16, 64, 4}), decode_f32),
                                TYPE((Layout{"F16", 16, 32, 4}), decode_f16),
                                TYPE((Layout{"BF16", 16, 32, 4}), decode_bf16)};
#undef NAMED
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
