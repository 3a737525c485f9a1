// Loads and stores of vectors: neighbours, and rows.
#include <array>
#include <functional>

#include "core/processor.hpp"
#include "jit/x86.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

namespace {

// AMD's processors find the lines of long runs sooner by themselves: told of them, Zen 4 reads
// memory a quarter slower, and writes to its caches no faster.
bool wants_prefetch() { return !core::is_amd(); }

}  // namespace

// Whether a load or store of this type takes a mask.
bool X86::masks_memory(DType stored) const { return avx512_ || is_plain(stored); }

BaseReg X86::mask_bits(BaseReg mask) {
  const Gp bits = cc_.newGpq();
  if (avx512_) {
    // A copy, which stands in a register: AsmJit takes a mask on the stack for an operand here, as
    // the instruction does not.
    const BaseReg copy = vector(DType::Bool);
    copy_vector(DType::Bool, copy, mask);
    cc_.emit(width == 16 ? I::kIdKmovw : I::kIdKmovb, bits.r32(), copy);
  }
  if (!avx512_) cc_.vmovmskps(bits.r32(), mask.as<Vec>());
  return bits;
}

BaseReg X86::all_lanes() {
  const BaseReg to = vector(DType::Bool);
  copy_vector(DType::Bool, to, constant(DType::Bool, 1));
  return to;
}

// fn(lane) for the lanes of the mask, one after the other.
void X86::each_lane(BaseReg mask, const std::function<void(uint32_t)>& fn) {
  const bool masked = mask.isValid();
  const BaseReg bits = masked ? mask_bits(mask) : BaseReg();
  for (uint32_t lane = 0; lane < width; lane++) {
    const Label skip = cc_.newLabel();
    if (masked) {
      cc_.test(gp32(bits), 1u << lane);
      cc_.jz(skip);
    }
    fn(lane);
    if (masked) cc_.bind(skip);
  }
}

// ---- Neighbours ---------------------------------------------------------------------------------

std::optional<Operand> X86::in_memory(DType stored, const Address& from) {
  if (!is_plain(stored)) return {};
  return memory(from, bytes(compute_type(stored)));
}

// Elements to lanes of the compute type; a mask only where the instruction takes one.
// What makes 32 bits of narrower elements in memory. Those of BF16 are to be shifted then.
X86::Id X86::widening(DType stored) {
  switch (stored) {
    case DType::I8: return I::kIdVpmovsxbd;
    case DType::U8:
    case DType::Bool: return I::kIdVpmovzxbd;
    case DType::I16: return I::kIdVpmovsxwd;
    case DType::U16:
    case DType::BF16: return I::kIdVpmovzxwd;
    case DType::F16: return I::kIdVcvtph2ps;
    default: return I::kIdNone;
  }
}

X86::Vec X86::widen(DType stored, const Mem& from, BaseReg mask) {
  const DType type = compute_type(stored);
  Vec to = of(type == DType::Bool ? DType::U32 : type);
  Mem m = from;
  if (const Id id = widening(stored); id != I::kIdNone) {
    m.setSize(width * static_cast<uint32_t>(size_of(stored)));
    if (!mask.isValid() || !avx512_) cc_.emit(id, to, m);
    else cc_.k(mask.as<KReg>()).z().emit(id, to, m);
    if (stored == DType::BF16) cc_.vpslld(to, to, 16);
    return to;
  }
  m.setSize(bytes(type));
  if (!mask.isValid()) cc_.vmovups(to, m);
  else if (avx512_)
    cc_.k(mask.as<KReg>()).z().emit(is_wide(type) ? I::kIdVmovupd : I::kIdVmovups, to, m);
  else if (is_wide(type)) cc_.vmaskmovpd(to, widened(mask), m);
  else cc_.vmaskmovps(to, mask.as<Vec>(), m);
  return to;
}

// Bytes to bits, without lanes between.
BaseReg X86::load_bools(Mem from, BaseReg mask) {
  const Vec bytes = cc_.newXmm();
  from.setSize(mask.isValid() ? 16 : width);
  if (mask.isValid()) cc_.k(mask.as<KReg>()).z().emit(I::kIdVmovdqu8, bytes, from);
  else cc_.emit(width == 16 ? I::kIdVmovups : I::kIdVmovq, bytes, from);
  const BaseReg to = vector(DType::Bool);
  cc_.emit(I::kIdVptestmb, to, bytes, bytes);
  return to;
}

void X86::store_bools(Mem to, BaseReg value, BaseReg mask) {
  std::array<uint8_t, 16> ones{};
  ones.fill(1);
  const Vec bytes = cc_.newXmm();
  Mem m = literal(ones.data(), ones.size());
  m.setSize(16);
  cc_.k(value.as<KReg>()).z().emit(I::kIdVmovdqu8, bytes, m);
  to.setSize(mask.isValid() ? 16 : width);
  if (mask.isValid()) cc_.k(mask.as<KReg>()).emit(I::kIdVmovdqu8, to, bytes);
  else cc_.emit(width == 16 ? I::kIdVmovups : I::kIdVmovq, to, bytes);
}

BaseReg X86::load_run(DType stored, const Address& from, BaseReg mask) {
  if (stored == DType::Bool && avx512_) return load_bools(memory(from, 1), mask);
  Vec loaded;
  if (!mask.isValid() || masks_memory(stored)) {
    loaded = widen(stored, memory(from, 1), mask);
  } else {
    const auto element = static_cast<uint32_t>(size_of(stored));
    const BaseReg lanes = row(kRows - 1);
    const Vec zero = of(DType::U32);
    cc_.vpxor(zero, zero, zero);
    cc_.vmovups(memory({lanes}, bytes(DType::U32)), zero);
    each_lane(mask, [&](uint32_t lane) {
      const BaseReg r = scalar();
      Address at = from;
      at.bytes += static_cast<int32_t>(lane * element);
      load_scalar(r, at, element, false);
      store_scalar({lanes, {}, static_cast<int32_t>(lane * element)}, r, element);
    });
    loaded = widen(stored, memory({lanes}, 1), {});
  }
  if (stored != DType::Bool) return loaded;
  const Operand in[] = {loaded, constant(DType::U32, 0)};
  return *compare_integers(Op::Ne, DType::U32, in);
}

BaseReg X86::reversed(DType type, BaseReg lanes) {
  std::array<uint32_t, 16> last_first{};
  const uint32_t words = is_wide(type) ? 2 : 1;  // of a lane's number
  for (uint32_t lane = 0; lane < width; lane++) last_first[lane * words] = width - 1 - lane;
  const Vec to = of(type), order = of(type);
  move(order, literal(last_first.data(), bytes(type)));
  cc_.emit(words == 2 ? I::kIdVpermq : I::kIdVpermd, to, order, lanes.as<Vec>());
  return to;
}

// Of 32-bit lanes whose upper halves are 0.
X86::Vec X86::lower_halves(const Vec& lanes) {
  const Vec to = sized(std::max(16u, bytes(DType::U32) / 2));
  if (avx512_) {
    cc_.vpmovdw(to, lanes);
  } else if (width == 8) {
    const Vec high = cc_.newXmm();
    cc_.vextracti128(high.xmm(), lanes.ymm(), 1);
    cc_.vpackusdw(to.xmm(), lanes.xmm(), high.xmm());
  } else {
    cc_.vpackusdw(to.xmm(), lanes.xmm(), lanes.xmm());
  }
  return to;
}

// What is stored, in the lower bits of 32-bit lanes.
X86::Vec X86::narrow_bits(DType stored, const Operand& value) {
  if (stored == DType::Bool)
    return blend(DType::U32, value.as<BaseReg>(), in_register(DType::U32, constant(DType::U32, 1)),
                 in_register(DType::U32, constant(DType::U32, 0)))
        .as<Vec>();
  if (stored == DType::BF16) return bf16_bits(value);
  if (stored != DType::F16) return any(compute_type(stored), value);
  const Vec halves = sized(std::max(16u, bytes(DType::U32) / 2)), to = of(DType::U32);
  cc_.vcvtps2ph(halves, any(DType::F32, value), 0);
  cc_.vpmovzxwd(to, halves);
  return to;
}

// Lanes of the compute type to elements.
void X86::narrow(DType stored, const Mem& to, const Operand& value, BaseReg mask) {
  const DType type = compute_type(stored);
  Mem m = to;
  const auto masked = [&]() -> x86::Compiler& {
    return !mask.isValid() || !avx512_ ? cc_ : static_cast<x86::Compiler&>(cc_.k(mask.as<KReg>()));
  };
  if (is_plain(stored)) {
    const Vec v = any(type, value);
    m.setSize(bytes(type));
    if (!mask.isValid()) cc_.vmovups(m, v);
    else if (avx512_) masked().emit(is_wide(type) ? I::kIdVmovupd : I::kIdVmovups, m, v);
    else if (is_wide(type)) cc_.vmaskmovpd(m, widened(mask), v);
    else cc_.vmaskmovps(m, mask.as<Vec>(), v);
    return;
  }
  if (stored == DType::Bool && avx512_) return store_bools(to, value.as<BaseReg>(), mask);
  m.setSize(width * static_cast<uint32_t>(size_of(stored)));
  if (stored == DType::F16) {
    const Vec v = any(type, value);
    masked().emit(I::kIdVcvtps2ph, m, v, 0);
    return;
  }
  const Vec v = narrow_bits(stored, value);
  const bool byte = size_of(stored) == 1;
  if (avx512_) {
    masked().emit(byte ? I::kIdVpmovdb : I::kIdVpmovdw, m, v);
    return;
  }
  // Pack, after what does not fit is gone.
  const Vec low = of(DType::U32);
  bitwise(Op::And, low, v, constant(DType::U32, byte ? 0xff : 0xffff));
  const Vec words = lower_halves(low);
  if (byte) cc_.vpackuswb(words.xmm(), words.xmm(), words.xmm());
  if (m.size() == 16) cc_.vmovups(m, words.xmm());
  else if (m.size() == 8) cc_.vmovq(m, words.xmm());
  else cc_.vmovd(m, words.xmm());
}

void X86::store_run(DType stored, const Address& to, const Operand& value, BaseReg mask) {
  if (!mask.isValid() || masks_memory(stored)) return narrow(stored, memory(to, 1), value, mask);
  const auto element = static_cast<uint32_t>(size_of(stored));
  const BaseReg lanes = row(kRows - 1);
  narrow(stored, memory({lanes}, 1), value, {});
  each_lane(mask, [&](uint32_t lane) {
    const BaseReg r = scalar();
    Address at = to;
    at.bytes += static_cast<int32_t>(lane * element);
    load_scalar(r, {lanes, {}, static_cast<int32_t>(lane * element)}, element, false);
    store_scalar(at, r, element);
  });
}

// Without AVX-512: half a vector, a quarter, one element. AMD's processors take tens of cycles for
// a store with a mask.
void X86::store_first(DType stored, const Address& to, const Operand& value, BaseReg lanes,
                      BaseReg mask) {
  if (avx512_ || !is_plain(stored)) return store_run(stored, to, value, mask);
  const DType type = compute_type(stored);
  const Vec rest = of(type);
  move(rest, any(type, value));
  const x86::Gp at = scalar().as<x86::Gp>(), left = lanes.as<x86::Gp>();
  cc_.lea(at, memory(to, 8));
  for (uint32_t part = width / 2; part > 0; part /= 2) {
    const Label skip = cc_.newLabel();
    const auto size = part * static_cast<uint32_t>(size_of(type));
    cc_.test(left.r32(), part);
    cc_.jz(skip);
    const Mem m = x86::ptr(at, 0, size);
    if (size == 16) cc_.vmovups(m, rest.xmm());
    else if (size == 8) cc_.vmovq(m, rest.xmm());
    else cc_.vmovd(m, rest.xmm());
    if (part > 1) {
      if (size == 16) cc_.vextractf128(rest.xmm(), rest.ymm(), 1);
      else cc_.vpsrldq(rest.xmm(), rest.xmm(), size);
      cc_.add(at, size);
    }
    cc_.bind(skip);
  }
}

uint32_t X86::vector_bytes(DType stored) const {
  return is_plain(stored) ? bytes(compute_type(stored)) : 0;
}

void X86::store_non_temporal(DType stored, const Address& to, const Operand& value) {
  cc_.vmovntps(memory(to, vector_bytes(stored)), any(compute_type(stored), value));
  fences_ = true;
}

// Zen 5 is best told three rows of 1,000 floats ahead, while it writes. Between, told of where a
// row begins, it finds the rest by itself, and is slower told of all of it: 40 lines take 0.6 of
// the time of 64. Intel's processors want the whole row.
X86::NextRow X86::next_row() const {
  return avx512_ && core::is_amd() ? NextRow{40, 224} : NextRow{64, 0};
}

void X86::prefetch_load(const Address& from, bool far) {
  if (far || wants_prefetch()) cc_.prefetcht0(memory(from, 64));
}

void X86::prefetch_store(const Address& to) {
  if (wants_prefetch()) cc_.prefetchw(memory(to, 64));
}

Operand X86::spill_slot(DType type) {
  Mem m = cc_.newStack(bytes(type), bytes(type));
  m.setSize(bytes(type));
  return m;
}

void X86::to_spill_slot(DType type, const Operand& place, const Operand& value) {
  cc_.vmovups(place.as<Mem>(), any(type, value));
}

// ---- Rows ---------------------------------------------------------------------------------------

BaseReg X86::row(uint32_t number) {
  Mem& place = rows_[number];
  if (!place.hasBase()) place = cc_.newStack(kRowBytes, 64);
  const Gp at = cc_.newGpq();
  cc_.lea(at, place);
  return at;
}

// A bool's lanes are bits.
void X86::to_row(DType type, BaseReg row, uint32_t first, const Operand& value) {
  if (type == DType::Bool) {
    const BaseReg bits = mask_bits(value.as<BaseReg>());
    if (width >= 8)
      return store_scalar({row, {}, static_cast<int32_t>(first / 8)}, bits, width / 8);
    // Half a byte: the other half is kept.
    const BaseReg both = scalar();
    const Address at{row, {}, static_cast<int32_t>(first / 8)};
    if (first % 8 == 0) {
      store_scalar(at, bits, 1);
      return;
    }
    load_scalar(both, at, 1, false);
    cc_.shl(gp32(bits), 4);
    cc_.or_(gp32(both), gp32(bits));
    store_scalar(at, both, 1);
    return;
  }
  const auto element = static_cast<uint32_t>(size_of(type));
  cc_.vmovups(memory({row, {}, static_cast<int32_t>(first * element)}, bytes(type)),
              any(type, value));
}

BaseReg X86::from_row(DType type, BaseReg row, uint32_t first) {
  const BaseReg to = vector(type);
  if (type == DType::Bool) {
    const BaseReg bits = scalar();
    const Address at{row, {}, static_cast<int32_t>(first / 8)};
    load_scalar(bits, at, width == 16 ? 2 : 1, false);
    if (width == 4 && first % 8 != 0) cc_.shr(gp32(bits), 4);
    if (avx512_) {
      cc_.emit(width == 16 ? I::kIdKmovw : I::kIdKmovb, to, gp32(bits));
      return to;
    }
    // Each lane looks at its own bit.
    const Vec lanes = of(DType::U32), own = of(DType::U32);
    broadcast(DType::U32, lanes, bits);
    uint32_t weights[8];
    for (uint32_t l = 0; l < 8; l++) weights[l] = 1u << l;
    Mem m = literal(weights, bytes(DType::U32));
    m.setSize(bytes(DType::U32));
    cc_.vmovups(own, m);
    bitwise(Op::And, lanes, lanes, own);
    const Operand in[] = {lanes, own};
    return *compare_integers(Op::Eq, DType::U32, in);
  }
  const auto element = static_cast<uint32_t>(size_of(type));
  cc_.vmovups(to.as<Vec>(), memory({row, {}, static_cast<int32_t>(first * element)}, bytes(type)));
  return to;
}

}  // namespace hologram::jit
