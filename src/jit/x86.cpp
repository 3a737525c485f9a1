// Scalars, registers, constants and calls.
#include "jit/x86.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "core/processor.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

namespace {

asmjit::x86::CondCode code_of(Cond c) {
  using C = asmjit::x86::CondCode;
  static constexpr C kCodes[] = {C::kEqual,      C::kNotEqual,  C::kSignedLT,   C::kSignedLE,
                                 C::kSignedGT,   C::kSignedGE,  C::kUnsignedLT, C::kUnsignedLE,
                                 C::kUnsignedGT, C::kUnsignedGE};
  return kCodes[static_cast<size_t>(c)];
}

}  // namespace

X86::X86(asmjit::CodeHolder& code, bool avx512, bool wide, uint32_t held)
    : Target((avx512 ? 16u : 8u) / (wide ? 2u : 1u)),
      cc_(&code),
      avx512_(avx512),
      vnni_(avx512 && core::has_avx512_vnni()),
      wide_(wide),
      held_(held) {}

void X86::begin() {
  function_ = cc_.addFunc(asmjit::FuncSignatureT<uint32_t, const void*>());
  function_->frame().setAvxEnabled();
  function_->frame().setAvxCleanup();
  if (avx512_) function_->frame().setAvx512Enabled();
  argument_ = cc_.newGpq();
  function_->setArg(0, argument_);
  start_ = cc_.cursor();
}

void X86::end(BaseReg status) {
  if (fences_) cc_.sfence();
  cc_.ret(gp32(status));
  cc_.endFunc();
  give_registers(cc_, *function_, parts_, avx512_);
}

X86::Mem X86::memory(const Address& a, uint32_t size) {
  const uint32_t shift = a.element == 8 ? 3 : a.element == 4 ? 2 : a.element == 2 ? 1 : 0;
  Mem m = !a.index.isValid() ? x86::ptr(gp(a.base), a.bytes)
                             : x86::ptr(gp(a.base), gp(a.index), shift, a.bytes);
  m.setSize(size);
  return m;
}

// ---- Scalars ------------------------------------------------------------------------------------

void X86::load_scalar(BaseReg to, const Address& from, uint32_t size, bool is_signed) {
  const Mem m = memory(from, size);
  if (size == 8) cc_.mov(gp(to), m);
  else if (size == 4 && is_signed) cc_.movsxd(gp(to), m);
  else if (size == 4) cc_.mov(gp32(to), m);
  else if (is_signed) cc_.movsx(gp32(to), m);
  else cc_.movzx(gp32(to), m);
}

void X86::store_scalar(const Address& to, BaseReg from, uint32_t size) {
  const Mem m = memory(to, size);
  if (size == 8) cc_.mov(m, gp(from));
  else if (size == 4) cc_.mov(m, gp32(from));
  else if (size == 2) cc_.mov(m, from.as<Gp>().r16());
  else cc_.mov(m, from.as<Gp>().r8());
}

void X86::address_of(BaseReg to, const Address& from) { cc_.lea(gp(to), memory(from, 8)); }

void X86::set(BaseReg to, int64_t value) {
  if (value == 0) cc_.xor_(gp32(to), gp32(to));
  else if (value > 0 && value <= UINT32_MAX) cc_.mov(gp32(to), asmjit::imm(value));
  else cc_.mov(gp(to), asmjit::imm(value));
}

void X86::copy(BaseReg to, BaseReg from) { cc_.mov(gp(to), gp(from)); }

void X86::extend(BaseReg to, BaseReg from, DType type) {
  if (size_of(type) == 8) cc_.mov(gp(to), gp(from));
  else if (type == DType::I32) cc_.movsxd(gp(to), gp32(from));
  else cc_.mov(gp32(to), gp32(from));
}

bool X86::scalar_op(Op op, DType type, BaseReg to, BaseReg a, const Operand& b) {
  const bool wide = size_of(type) == 8;
  const Gp d = wide ? gp(to) : gp32(to), s = wide ? gp(a) : gp32(a);
  Operand other = b;
  if (other.isReg()) other = wide ? gp(b.as<BaseReg>()) : gp32(b.as<BaseReg>());
  const bool is_signed = type == DType::I32 || type == DType::I64;
  Id id = 0;
  switch (op) {
    case Op::Add: id = I::kIdAdd; break;
    case Op::Sub: id = I::kIdSub; break;
    case Op::And: id = I::kIdAnd; break;
    case Op::Or: id = I::kIdOr; break;
    case Op::Xor: id = I::kIdXor; break;
    case Op::Mul:
      if (other.isImm()) cc_.emit(I::kIdImul, d, s, other);
      else {
        const Gp t = wide ? cc_.newGpq() : cc_.newGpq().r32();
        cc_.mov(t, s);
        cc_.emit(I::kIdImul, t, other);
        cc_.mov(d, t);
      }
      return true;
    case Op::Min:
    case Op::Max: {
      if (!other.isReg()) return false;
      const Gp t = wide ? cc_.newGpq() : cc_.newGpq().r32();
      cc_.mov(t, s);
      cc_.emit(I::kIdCmp, t, other);
      if (op == Op::Min) cc_.emit(is_signed ? I::kIdCmovg : I::kIdCmova, t, other);
      else cc_.emit(is_signed ? I::kIdCmovl : I::kIdCmovb, t, other);
      cc_.mov(d, t);
      return true;
    }
    case Op::Div:
    case Op::Rem: return divide_scalars(op, type, d, s, other);
    case Op::Shl:
    case Op::Shr: {
      if (!other.isImm()) {
        const Id by = op == Op::Shl ? I::kIdShlx : is_signed ? I::kIdSarx : I::kIdShrx;
        cc_.emit(by, d, s, other);  // counts as many bits of the other as a shift can have
        return true;
      }
      const uint64_t n = other.as<asmjit::Imm>().valueAs<uint64_t>() % (wide ? 64 : 32);
      cc_.mov(d, s);
      cc_.emit(op == Op::Shl ? I::kIdShl : is_signed ? I::kIdSar : I::kIdShr, d, asmjit::imm(n));
      return true;
    }
    default: return false;
  }
  if (b.isReg() && to.id() == b.id() && to.id() != a.id()) {
    const Gp t = wide ? cc_.newGpq() : cc_.newGpq().r32();
    cc_.mov(t, s);
    cc_.emit(id, t, other);
    cc_.mov(d, t);
    return true;
  }
  if (to.id() != a.id()) cc_.mov(d, s);
  cc_.emit(id, d, other);
  return true;
}

void X86::scalar_not(BaseReg to, BaseReg a, DType type) {
  cc_.mov(gp(to), gp(a));
  if (type == DType::Bool) cc_.xor_(gp32(to), 1);
  else cc_.not_(gp(to));
}

void X86::scalar_compare(BaseReg to, Cond cond, BaseReg a, const Operand& b, bool wide) {
  Operand other = b;
  if (other.isReg()) other = wide ? gp(b.as<BaseReg>()) : gp32(b.as<BaseReg>());
  const Gp t = cc_.newGpq();
  cc_.emit(I::kIdCmp, wide ? gp(a) : gp32(a), other);
  cc_.emit(x86::Inst::setccFromCond(code_of(cond)), t.r8());
  cc_.movzx(gp32(to), t.r8());
}

// Orders only: for those one flag tells, in which NaN is neither above nor as much.
bool X86::compare_first(Op op, DType type, BaseReg to, const Operand& a, const Operand& b) {
  const bool swapped = op == Op::Lt || op == Op::Le;
  if (!swapped && op != Op::Gt && op != Op::Ge) return false;
  const BaseReg more = in_register(type, swapped ? b : a),
                less = in_register(type, swapped ? a : b);
  const Gp t = cc_.newGpq();
  cc_.emit(type == DType::F64 ? I::kIdVcomisd : I::kIdVcomiss, part(more, 16), part(less, 16));
  if (op == Op::Lt || op == Op::Gt) cc_.seta(t.r8());
  else cc_.setae(t.r8());
  cc_.movzx(gp32(to), t.r8());
  return true;
}

void X86::scalar_select(BaseReg to, BaseReg cond, BaseReg a, BaseReg b) {
  const Gp t = cc_.newGpq();
  cc_.mov(t, gp(b));
  cc_.test(gp32(cond), gp32(cond));
  cc_.cmovnz(t, gp(a));
  cc_.mov(gp(to), t);
}

void X86::jump_if(Cond cond, BaseReg a, const Operand& b, bool wide, Label to) {
  Operand other = b;
  if (other.isReg()) other = wide ? gp(b.as<BaseReg>()) : gp32(b.as<BaseReg>());
  cc_.emit(I::kIdCmp, wide ? gp(a) : gp32(a), other);
  cc_.emit(x86::Inst::jccFromCond(code_of(cond)), to);
}

void X86::count_down(BaseReg counter, Label at_zero) {
  cc_.sub(gp32(counter), 1);
  cc_.jz(at_zero);
}

void X86::call(const Operand& function, std::span<const BaseReg> arguments, BaseReg result) {
  asmjit::FuncSignatureBuilder signature;
  if (!result.isValid()) signature.setRet(asmjit::TypeId::kVoid);
  else signature.setRetT<uint64_t>();
  for (size_t i = 0; i < arguments.size(); i++) signature.addArgT<uint64_t>();
  asmjit::InvokeNode* node = nullptr;
  const auto error = function.isImm() ? cc_.invoke(&node, function.as<asmjit::Imm>(), signature)
                                      : cc_.invoke(&node, gp(function.as<BaseReg>()), signature);
  if (error != asmjit::kErrorOk) return;
  for (size_t i = 0; i < arguments.size(); i++) node->setArg(i, gp(arguments[i]));
  if (result.isValid()) node->setRet(0, gp(result));
}

// ---- Vectors ------------------------------------------------------------------------------------

uint32_t X86::bytes(DType type) const {
  return type == DType::Bool ? width * 4 : width * static_cast<uint32_t>(size_of(type));
}

X86::Vec X86::sized(uint32_t size) {
  if (size == 64) return cc_.newZmm();
  if (size == 32) return cc_.newYmm();
  return cc_.newXmm();
}

X86::Vec X86::part(const BaseReg& v, uint32_t size) {
  const Vec& all = v.as<Vec>();
  if (size == 64) return all.zmm();
  if (size == 32) return all.ymm();
  return all.xmm();
}

BaseReg X86::vector(DType type) {
  if (type == DType::Bool && avx512_) return width == 16 ? cc_.newKw() : cc_.newKb();
  return of(type);
}

X86::Mem X86::literal(const void* data, size_t size) {
  return cc_.newConst(asmjit::ConstPoolScope::kLocal, data, size);
}

X86::Mem X86::repeated(uint64_t bits, uint32_t element, uint32_t size) {
  std::array<std::byte, 64> data{};
  for (uint32_t at = 0; at < size; at += element) std::memcpy(data.data() + at, &bits, element);
  return literal(data.data(), size);
}

Operand X86::constant(DType type, uint64_t bits) {
  const auto [it, is_new] = constants_.try_emplace({type, bits});
  if (!is_new) return it->second;
  if (type == DType::Bool) {
    it->second = at_start([&] {
      const BaseReg r = vector(type);
      if (avx512_) {
        const Id set = width == 16 ? I::kIdKxnorw : I::kIdKxnorb,
                 clear = width == 16 ? I::kIdKxorw : I::kIdKxorb;
        cc_.emit(bits ? set : clear, r, r, r);
      } else {
        cc_.emit(bits ? I::kIdVpcmpeqd : I::kIdVpxor, r, r, r);
      }
      return r;
    });
    return it->second;
  }
  const auto element = static_cast<uint32_t>(size_of(type));
  Operand in_pool;
  if (avx512_) {
    Mem m = literal(&bits, element);
    m.setSize(element);
    in_pool = bytes(type) / element == 16  ? m._1to16()
              : bytes(type) / element == 8 ? m._1to8()
                                           : m._1to4();
  } else {
    Mem m = repeated(bits, element, bytes(type));
    m.setSize(bytes(type));
    in_pool = m;
  }
  if (held_ == 0) return it->second = in_pool;
  held_--;
  it->second = at_start([&] {
    const Vec r = of(type);
    move(r, in_pool);
    return r;
  });
  return it->second;
}

// A register, memory, or an element to be repeated.
void X86::move(Vec to, const Operand& from) {
  if (from.isMem() && from.as<Mem>().hasBroadcast()) {
    Mem m = from.as<Mem>();
    m.resetBroadcast();
    if (m.size() == 8) cc_.vbroadcastsd(to, m);
    else cc_.vbroadcastss(to, m);
  } else if (from.isMem()) {
    cc_.vmovups(to, from.as<Mem>());
  } else if (from.as<BaseReg>().id() != to.id()) {
    cc_.vmovaps(to, part(from.as<BaseReg>(), to.size()));
  }
}

BaseReg X86::in_register(DType type, const Operand& v) {
  if (v.isReg()) return v.as<BaseReg>();
  const Vec r = of(type);
  move(r, v);
  return r;
}

void X86::copy_vector(DType type, BaseReg to, const Operand& from) {
  if (type != DType::Bool || !avx512_) return move(to.as<Vec>(), from);
  if (from.as<BaseReg>().id() == to.id()) return;
  cc_.emit(width == 16 ? I::kIdKmovw : I::kIdKmovb, to, from);
}

void X86::broadcast(DType type, BaseReg to, BaseReg scalar) {
  if (type == DType::Bool) {
    // All bits of the lanes, from 0 or 1.
    const Gp t = cc_.newGpq();
    cc_.mov(gp32(t), gp32(scalar));
    cc_.neg(gp32(t));
    if (avx512_) return void(cc_.emit(width == 16 ? I::kIdKmovw : I::kIdKmovb, to, gp32(t)));
    const Vec x = cc_.newXmm();
    cc_.vmovd(x.xmm(), gp32(t));
    cc_.vpbroadcastd(to.as<Vec>(), x.xmm());
    return;
  }
  const bool eight = size_of(type) == 8;
  if (avx512_) {
    if (eight) cc_.vpbroadcastq(to.as<Vec>(), gp(scalar));
    else cc_.vpbroadcastd(to.as<Vec>(), gp32(scalar));
    return;
  }
  const Vec x = cc_.newXmm();
  if (eight) {
    cc_.vmovq(x.xmm(), gp(scalar));
    cc_.vpbroadcastq(to.as<Vec>(), x.xmm());
  } else {
    cc_.vmovd(x.xmm(), gp32(scalar));
    cc_.vpbroadcastd(to.as<Vec>(), x.xmm());
  }
}

bool X86::broadcast_load(BaseReg to, const Address& from) {
  cc_.vbroadcastss(to.as<Vec>(), memory(from, sizeof(float)));
  return true;
}

void X86::first_lane(DType type, BaseReg scalar, const Operand& from) {
  if (type == DType::Bool) {
    const BaseReg bits = mask_bits(from.as<BaseReg>());
    cc_.mov(gp32(scalar), gp32(bits));
    cc_.and_(gp32(scalar), 1);
    return;
  }
  const Vec v = cc_.newXmm();  // a copy, as in mask_bits
  cc_.vmovaps(v.xmm(), any(type, from).xmm());
  if (size_of(type) == 8) cc_.vmovq(gp(scalar), v.xmm());
  else cc_.vmovd(gp32(scalar), v.xmm());
}

bool X86::broadcast_f16(BaseReg to, BaseReg scalar) {
  const Vec x = cc_.newXmm();
  cc_.vmovd(x.xmm(), gp32(scalar));
  cc_.vcvtph2ps(x.xmm(), x.xmm());
  cc_.vbroadcastss(to.as<Vec>(), x.xmm());
  return true;
}

void X86::broadcast_first(DType type, BaseReg to, BaseReg from) {
  const Vec v = cc_.newXmm();  // a copy, as in mask_bits
  cc_.vmovaps(v.xmm(), part(from, 16));
  if (size_of(type) == 8) cc_.vpbroadcastq(to.as<Vec>(), v.xmm());
  else cc_.vpbroadcastd(to.as<Vec>(), v.xmm());
}

void X86::affine(DType type, BaseReg to, BaseReg base, int64_t step, int64_t first) {
  const auto element = static_cast<uint32_t>(size_of(type));
  std::array<std::byte, 64> lanes{};
  for (uint32_t l = 0; l < width; l++) {
    const int64_t v =
        static_cast<int64_t>(static_cast<uint64_t>(step) * static_cast<uint64_t>(first + l));
    std::memcpy(lanes.data() + size_t{l} * element, &v, element);
  }
  Mem m = literal(lanes.data(), bytes(type));
  m.setSize(bytes(type));
  broadcast(type, to, base);
  if (element == 8) cc_.vpaddq(to.as<Vec>(), to.as<Vec>(), m);
  else cc_.vpaddd(to.as<Vec>(), to.as<Vec>(), m);
}

}  // namespace hologram::jit
