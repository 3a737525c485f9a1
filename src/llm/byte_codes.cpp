#include "llm/byte_codes.hpp"

#include <map>

#include "libraries/blocks/lanes.hpp"
#include "llm/emitted.hpp"

// There is nothing to be unrolled: what runs emits.
#undef HOLOGRAM_LANES
#define HOLOGRAM_LANES inline
#undef HOLOGRAM_UNROLL
#define HOLOGRAM_UNROLL

namespace hologram::llm {
namespace {

using libraries::blocks::Codes;
using libraries::blocks::kFp4;
using libraries::blocks::kNonLinear;
using libraries::blocks::Part;
using program::Builder;
using program::Value;

class EmittedCodes {
 public:
  using Bits = Value;
  using Real = Value;
  explicit EmittedCodes(const ByteCode& code) : code_(code), b_(code.builder) {}

  Bits word(uint32_t k) {
    const auto known = words_.find(k);
    return known != words_.end() ? known->second : words_.emplace(k, code_.word(k)).first->second;
  }
  static Bits shl(Bits a, uint32_t k) { return k == 0 ? a : a << k; }
  static Bits shr(Bits a, uint32_t k) { return k == 0 ? a : a >> k; }
  static Bits masked(Bits a, uint32_t mask) { return a & mask; }
  static Bits joined(Bits a, Bits b) { return a | b; }
  static Bits times(Bits a, uint32_t factor) { return a * factor; }
  // Four times one of sixteen.
  Bits lookup(Bits places, const Codes& table) const {
    Value all;
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const Value top = emit_lookup(b_, shr(places, shift) & 15, table) & 0xff000000u;
      const Value byte = shr(top, 24 - shift);
      all = shift == 0 ? byte : all | byte;
    }
    return all;
  }
  Real half(Bits a) const { return emit_half(b_, a & 0xffff); }
  Real real(Bits a) const { return b_.cast(b_.bitcast(a, DType::I32), DType::F32); }
  Real sbyte(Bits a) const { return b_.cast(b_.bitcast(a, DType::I32) >> 24, DType::F32); }
  Real exponent(Bits a) const { return emit_exponent(b_, a); }
  static Real product(Real a, Real b) { return a * b; }
  static Real less(Real a, Real b) { return a - b; }
  Real number(float x) const { return b_.constant(DType::F32, x); }
  Real zero() const { return number(0); }

  void put(uint32_t k, Bits codes) { code_.put(k, b_.bitcast(codes, DType::I32)); }
  void put_signed(uint32_t k, Bits codes) { put(k, codes); }
  void add(uint32_t n, Part part, Real scale, uint32_t more) { code_.add(n, part, scale, more); }
  void add_signed(uint32_t n, Part part, Real scale) { add(n, part, scale, 0); }
  void add_with(uint32_t n, Part part, Real scale, Real offset) {
    code_.add_with(n, part, scale, offset);
  }

 private:
  const ByteCode& code_;
  Builder& b_;
  std::map<uint32_t, Value> words_;
};

#include "libraries/blocks/codes-inl.hpp"

struct Row {
  std::string_view type;
  void (*emit)(EmittedCodes& codes);
};
#define HOLOGRAM_TYPE(name, codes) {name, [](EmittedCodes& b) { codes(b); }},
constexpr Row kRows[] = {HOLOGRAM_FOR_BLOCK_TYPES(HOLOGRAM_TYPE)};
#undef HOLOGRAM_TYPE

}  // namespace

void emit_codes(std::string_view type, const ByteCode& code) {
  EmittedCodes codes(code);
  for (const Row& row : kRows)
    if (row.type == type) row.emit(codes);
}

}  // namespace hologram::llm
