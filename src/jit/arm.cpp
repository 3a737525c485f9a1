// Scalars, registers, constants and calls.
#include "jit/arm.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "jit/frame.hpp"

namespace hologram::jit {

namespace a64 = asmjit::a64;

namespace {

a64::CondCode code_of(Cond c) {
  using C = a64::CondCode;
  static constexpr C kCodes[] = {C::kEQ, C::kNE, C::kLT, C::kLE, C::kGT,
                                 C::kGE, C::kLO, C::kLS, C::kHI, C::kHS};
  return kCodes[static_cast<size_t>(c)];
}

asmjit::Imm imm_of(a64::CondCode code) { return asmjit::imm(static_cast<uint32_t>(code)); }

struct ScalarIds {
  Op op;
  asmjit::InstId for_signed, for_unsigned;
};
constexpr ScalarIds kScalars[] = {
    {Op::Add, a64::Inst::kIdAdd, a64::Inst::kIdAdd},
    {Op::Mul, a64::Inst::kIdMul, a64::Inst::kIdMul},
    {Op::And, a64::Inst::kIdAnd, a64::Inst::kIdAnd},
    {Op::Or, a64::Inst::kIdOrr, a64::Inst::kIdOrr},
    {Op::Xor, a64::Inst::kIdEor, a64::Inst::kIdEor},
    // They count modulo the width, as the language does.
    {Op::Shl, a64::Inst::kIdLslv, a64::Inst::kIdLslv},
    {Op::Shr, a64::Inst::kIdAsrv, a64::Inst::kIdLsrv},
};

uint32_t shift_of(uint8_t element) {
  return element == 8 ? 3 : element == 4 ? 2 : element == 2 ? 1 : 0;
}

constexpr int64_t kMostImmediate = 4095;  // of additions and comparisons

bool is_immediate(int64_t n) { return n >= -kMostImmediate && n <= kMostImmediate; }

}  // namespace

Arm::Arm(asmjit::CodeHolder& code, bool wide, uint32_t held)
    : Target(wide ? 2 : 4), cc_(&code), wide_(wide), held_(held) {}

void Arm::begin() {
  asmjit::FuncNode* function = cc_.addFunc(asmjit::FuncSignatureT<uint32_t, const void*>());
  argument_ = cc_.newGpx();
  function->setArg(0, argument_);
  start_ = cc_.cursor();
}

void Arm::end(BaseReg status) {
  cc_.ret(gp32(status));
  cc_.endFunc();
}

// An access of `size` bytes takes a base with an offset, or with an index scaled by that size.
Arm::Mem Arm::memory(const Address& a, uint32_t size) {
  Gp base = gp(a.base);
  if (a.index.isValid()) {
    const uint32_t shift = shift_of(a.element);
    if (a.bytes == 0 && a.element == size)
      return a64::ptr(base, gp(a.index), asmjit::arm::lsl(shift));
    base = cc_.newGpx();
    cc_.add(base, gp(a.base), gp(a.index), asmjit::arm::lsl(shift));
  }
  const auto offset = static_cast<uint32_t>(a.bytes);
  const bool fits = (a.bytes >= 0 && offset % size == 0 && offset / size <= kMostImmediate) ||
                    (a.bytes >= -256 && a.bytes <= 255);
  if (fits) return a64::ptr(base, a.bytes);
  const Gp at = cc_.newGpx();
  cc_.mov(at, asmjit::imm(a.bytes));
  cc_.add(at, at, base);
  return a64::ptr(at);
}

// ---- Scalars ------------------------------------------------------------------------------------

void Arm::load_scalar(BaseReg to, const Address& from, uint32_t size, bool is_signed) {
  const Mem m = memory(from, size);
  if (size == 8) cc_.ldr(gp(to), m);
  else if (size == 4 && is_signed) cc_.ldrsw(gp(to), m);
  else if (size == 4) cc_.ldr(gp32(to), m);
  else if (size == 2 && is_signed) cc_.ldrsh(gp32(to), m);
  else if (size == 2) cc_.ldrh(gp32(to), m);
  else if (is_signed) cc_.ldrsb(gp32(to), m);
  else cc_.ldrb(gp32(to), m);
}

void Arm::store_scalar(const Address& to, BaseReg from, uint32_t size) {
  const Mem m = memory(to, size);
  if (size == 8) cc_.str(gp(from), m);
  else if (size == 4) cc_.str(gp32(from), m);
  else if (size == 2) cc_.strh(gp32(from), m);
  else cc_.strb(gp32(from), m);
}

void Arm::address_of(BaseReg to, const Address& from) {
  Gp base = gp(from.base);
  if (from.index.isValid()) {
    cc_.add(gp(to), base, gp(from.index), asmjit::arm::lsl(shift_of(from.element)));
    base = gp(to);
  }
  if (from.bytes != 0) {
    const Gp offset = cc_.newGpx();
    cc_.mov(offset, asmjit::imm(from.bytes));
    cc_.add(gp(to), base, offset);
  } else if (base.id() != to.id()) {
    cc_.mov(gp(to), base);
  }
}

void Arm::set(BaseReg to, int64_t value) { cc_.mov(gp(to), asmjit::imm(value)); }

void Arm::copy(BaseReg to, BaseReg from) { cc_.mov(gp(to), gp(from)); }

void Arm::extend(BaseReg to, BaseReg from, DType type) {
  if (size_of(type) == 8) cc_.mov(gp(to), gp(from));
  else if (type == DType::I32) cc_.sxtw(gp(to), gp32(from));
  else cc_.mov(gp32(to), gp32(from));
}

Arm::Gp Arm::number(const Operand& v, bool wide) {
  if (v.isReg()) return gp(v.as<BaseReg>(), wide);
  const Gp r = cc_.newGpx();
  cc_.mov(r, v.as<asmjit::Imm>());
  return gp(r, wide);
}

// AsmJit believes that SUB reads what it overwrites: then that shall have a value.
void Arm::subtract(const Gp& to, const Gp& a, const Operand& b) {
  const bool aside = b.isReg() && b.id() == to.id() && to.id() != a.id();
  Gp t = to;
  if (aside) t.setId(cc_.newGpx().id());
  if (t.id() != a.id()) cc_.mov(t, a);
  cc_.emit(Inst::kIdSub, t, t, b);
  if (aside) cc_.mov(to, t);
}

bool Arm::scalar_op(Op op, DType type, BaseReg to, BaseReg a, const Operand& b) {
  const bool wide = size_of(type) == 8, is_signed = is_signed_integer(type);
  const Gp d = gp(to, wide), s = gp(a, wide);
  if (b.isImm()) {
    const auto n = b.as<asmjit::Imm>().valueAs<int64_t>();
    if ((op == Op::Add || op == Op::Sub) && is_immediate(n)) {
      const asmjit::Imm magnitude = asmjit::imm(n >= 0 ? n : -n);
      if ((op == Op::Add) == (n >= 0)) cc_.add(d, s, magnitude);
      else subtract(d, s, magnitude);
      return true;
    }
    if (op == Op::Shl || op == Op::Shr) {
      const uint64_t count = static_cast<uint64_t>(n) % (wide ? 64 : 32);
      const Id id = op == Op::Shl ? Inst::kIdLsl : is_signed ? Inst::kIdAsr : Inst::kIdLsr;
      cc_.emit(id, d, s, asmjit::imm(count));
      return true;
    }
  }
  if (op == Op::Sub) {
    subtract(d, s, number(b, wide));
    return true;
  }
  for (const ScalarIds& row : kScalars) {
    if (row.op != op) continue;
    cc_.emit(is_signed ? row.for_signed : row.for_unsigned, d, s, number(b, wide));
    return true;
  }
  if (op == Op::Min || op == Op::Max) {
    const Gp other = number(b, wide);
    const Cond below = is_signed ? Cond::Less : Cond::Below,
               above = is_signed ? Cond::Greater : Cond::Above;
    cc_.cmp(s, other);
    cc_.csel(d, s, other, imm_of(code_of(op == Op::Min ? below : above)));
    return true;
  }
  return divide(op, type, d, s, number(b, wide));
}

void Arm::scalar_not(BaseReg to, BaseReg a, DType type) {
  if (type == DType::Bool) cc_.eor(gp32(to), gp32(a), asmjit::imm(1));
  else cc_.mvn(gp(to), gp(a));
}

void Arm::compare_scalars(BaseReg a, const Operand& b, bool wide) {
  const Gp s = gp(a, wide);
  const int64_t n = b.isImm() ? b.as<asmjit::Imm>().valueAs<int64_t>() : kMostImmediate + 1;
  if (!is_immediate(n)) cc_.cmp(s, number(b, wide));
  else if (n >= 0) cc_.cmp(s, asmjit::imm(n));
  else cc_.cmn(s, asmjit::imm(-n));
}

void Arm::scalar_compare(BaseReg to, Cond cond, BaseReg a, const Operand& b, bool wide) {
  compare_scalars(a, b, wide);
  cc_.cset(gp32(to), imm_of(code_of(cond)));
}

void Arm::scalar_select(BaseReg to, BaseReg cond, BaseReg a, BaseReg b) {
  cc_.cmp(gp32(cond), asmjit::imm(0));
  cc_.csel(gp(to), gp(a), gp(b), imm_of(a64::CondCode::kNE));
}

void Arm::jump_if(Cond cond, BaseReg a, const Operand& b, bool wide, Label to) {
  compare_scalars(a, b, wide);
  cc_.b(code_of(cond), to);
}

void Arm::count_down(BaseReg counter, Label at_zero) {
  cc_.sub(gp32(counter), gp32(counter), asmjit::imm(1));
  cc_.cbz(gp32(counter), at_zero);
}

void Arm::call(const Operand& function, std::span<const BaseReg> arguments, BaseReg result) {
  asmjit::FuncSignatureBuilder signature;
  if (!result.isValid()) signature.setRet(asmjit::TypeId::kVoid);
  else signature.setRetT<uint64_t>();
  for (size_t i = 0; i < arguments.size(); i++) signature.addArgT<uint64_t>();
  asmjit::InvokeNode* node = nullptr;
  if (cc_.invoke(&node, number(function, true), signature) != asmjit::kErrorOk) return;
  // The return address takes the link register, which AsmJit believes to survive the call.
  asmjit::CallConv& convention = node->detail()._callConv;
  convention.setPreservedRegs(
      asmjit::RegGroup::kGp,
      convention.preservedRegs(asmjit::RegGroup::kGp) & ~asmjit::Support::bitMask(Gp::kIdLr));
  for (size_t i = 0; i < arguments.size(); i++) node->setArg(i, gp(arguments[i]));
  if (result.isValid()) node->setRet(0, gp(result));
}

// ---- Vectors ------------------------------------------------------------------------------------

uint32_t Arm::bytes(DType type) const {
  return type == DType::Bool ? width * 4 : width * static_cast<uint32_t>(size_of(type));
}

Arm::Vec Arm::part(const BaseReg& v, uint32_t size) {
  const Vec& all = v.as<Vec>();
  if (size == 16) return all.q();
  if (size == 8) return all.d();
  if (size == 4) return all.s();
  return all.h();
}

Arm::Vec Arm::lanes(DType type, const BaseReg& v) const {
  const Vec& all = v.as<Vec>();
  if (is_wide(type)) return all.d2();
  if (wide_) return all.s2();
  return all.s4();
}

Arm::Vec Arm::lane(DType type, const BaseReg& v, uint32_t number) {
  const Vec& all = v.as<Vec>();
  if (is_wide(type)) return all.d(number);
  return all.s(number);
}

Arm::Mem Arm::literal(const void* data) {
  return cc_.newConst(asmjit::ConstPoolScope::kLocal, data, 16);
}

Arm::Mem Arm::numbers(DType type, const std::function<uint64_t(uint32_t lane)>& of_lane) {
  const size_t element = is_wide(type) ? 8 : 4;
  std::array<std::byte, 16> data{};
  for (uint32_t l = 0; l < data.size() / element; l++) {
    const uint64_t v = of_lane(l);
    std::memcpy(data.data() + l * element, &v, element);
  }
  return literal(data.data());
}

void Arm::load(const Vec& to, const Mem& from, uint32_t size) { cc_.ldr(part(to, size), from); }

Arm::Vec Arm::zero() {
  const Vec r = new_vector();
  cc_.movi(r.d2(), asmjit::imm(0));
  return r;
}

Operand Arm::constant(DType type, uint64_t bits) {
  const auto [it, is_new] = constants_.try_emplace({type, bits});
  if (!is_new) return it->second;
  if (type == DType::Bool) {
    it->second = at_start([&] {
      const Vec r = new_vector();
      cc_.movi(r.b16(), asmjit::imm(bits != 0 ? 0xff : 0));
      return r;
    });
    return it->second;
  }
  const Mem in_pool = numbers(type, [&](uint32_t) { return bits; });
  if (held_ == 0) return it->second = in_pool;
  held_--;
  it->second = at_start([&] {
    const Vec r = new_vector();
    load(r, in_pool, bytes(type));
    return r;
  });
  return it->second;
}

BaseReg Arm::in_register(DType type, const Operand& v) {
  if (v.isReg()) return v.as<BaseReg>();
  const Vec r = new_vector();
  load(r, v.as<Mem>(), bytes(type));
  return r;
}

void Arm::copy_vector(DType type, BaseReg to, const Operand& from) {
  if (from.isMem()) return load(to.as<Vec>(), from.as<Mem>(), bytes(type));
  if (from.as<BaseReg>().id() != to.id()) cc_.mov(bits(to), bits(from.as<BaseReg>()));
}

void Arm::broadcast(DType type, BaseReg to, BaseReg scalar) {
  if (type != DType::Bool) return void(cc_.dup(lanes(type, to), gp(scalar, is_wide(type))));
  // All bits of the lanes, from 0 or 1.
  const Gp t = cc_.newGpx();
  cc_.neg(gp32(t), gp32(scalar));
  cc_.dup(lanes(type, to), gp32(t));
}

void Arm::first_lane(DType type, BaseReg scalar, const Operand& from) {
  cc_.umov(gp(scalar, is_wide(type)), lane(type, in_register(type, from), 0));
  if (type == DType::Bool) cc_.and_(gp32(scalar), gp32(scalar), asmjit::imm(1));
}

void Arm::broadcast_first(DType type, BaseReg to, BaseReg from) {
  cc_.dup(lanes(type, to), lane(type, from, 0));
}

void Arm::affine(DType type, BaseReg to, BaseReg base, int64_t step, int64_t first) {
  const Mem m = numbers(type, [&](uint32_t l) {
    return static_cast<uint64_t>(step) * static_cast<uint64_t>(first + l);
  });
  broadcast(type, to, base);
  cc_.add(lanes(type, to), lanes(type, to), lanes_of(type, m));
}

BaseReg Arm::row(uint32_t number) {
  // Those of the frame: on the stack they would push what is spilled out of reach.
  const BaseReg at = scalar();
  load_scalar(at, {argument_, {}, static_cast<int32_t>(offsetof(Frame, rows))}, 8, false);
  if (number != 0) cc_.add(gp(at), gp(at), asmjit::imm(number * kRowBytes));
  return at;
}

}  // namespace hologram::jit
