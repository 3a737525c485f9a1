// Arithmetic, bits and logic on vectors.
#include "jit/arm.hpp"

namespace hologram::jit {

namespace a64 = asmjit::a64;

namespace {

using Id = asmjit::InstId;
using I = a64::Inst;

uint64_t sign_bit(DType t) { return is_wide(t) ? uint64_t{1} << 63 : uint64_t{1} << 31; }

// What is one instruction on every lane. Of integers: for lanes of 32 and of 64 bits, 0 where there
// is none.
struct FloatId {
  Op op;
  Id id;
};
constexpr FloatId kFloats[] = {
    {Op::Add, I::kIdFadd_v},     {Op::Sub, I::kIdFsub_v},    {Op::Mul, I::kIdFmul_v},
    {Op::Div, I::kIdFdiv_v},     {Op::Min, I::kIdFmin_v},    {Op::Max, I::kIdFmax_v},
    {Op::Neg, I::kIdFneg_v},     {Op::Abs, I::kIdFabs_v},    {Op::Sqrt, I::kIdFsqrt_v},
    {Op::Floor, I::kIdFrintm_v}, {Op::Ceil, I::kIdFrintp_v}, {Op::Trunc, I::kIdFrintz_v},
    {Op::Round, I::kIdFrintn_v},
};
struct IntegerId {
  Op op;
  bool for_signed, for_unsigned;
  Id id, wide;
};
constexpr IntegerId kIntegers[] = {
    {Op::Add, true, true, I::kIdAdd_v, I::kIdAdd_v},
    {Op::Sub, true, true, I::kIdSub_v, I::kIdSub_v},
    {Op::Mul, true, true, I::kIdMul_v, 0},
    {Op::Min, true, false, I::kIdSmin_v, 0},
    {Op::Min, false, true, I::kIdUmin_v, 0},
    {Op::Max, true, false, I::kIdSmax_v, 0},
    {Op::Max, false, true, I::kIdUmax_v, 0},
    {Op::Neg, true, true, I::kIdNeg_v, I::kIdNeg_v},
    {Op::Abs, true, false, I::kIdAbs_v, I::kIdAbs_v},
    {Op::Clz, true, true, I::kIdClz_v, 0},
};

Id bitwise(Op op) { return op == Op::And ? I::kIdAnd_v : op == Op::Or ? I::kIdOrr_v : I::kIdEor_v; }

}  // namespace

// The operand's own register if it dies, else a new one.
Arm::Vec Arm::result_in(const Operand& v, bool dies) {
  return dies && v.isReg() ? v.as<Vec>() : new_vector();
}

BaseReg Arm::emit1(Id id, DType type, const Operand& a) {
  const Vec to = new_vector();
  cc_.emit(id, lanes(type, to), lanes_of(type, a));
  return to;
}

BaseReg Arm::emit2(Id id, DType type, const Operand& a, const Operand& b) {
  const Vec to = new_vector();
  cc_.emit(id, lanes(type, to), lanes_of(type, a), lanes_of(type, b));
  return to;
}

std::optional<BaseReg> Arm::pure(Op op, DType type, DType from, std::span<const Operand> in,
                                 uint32_t dying) {
  if (op == Op::Select) return blend(type, in[0].as<BaseReg>(), in[1], in[2]);
  if (op >= Op::Eq && op <= Op::IsFinite) return compare(op, from, in);
  if (op == Op::Cast) return cast(type, from, in[0], (dying & 1) != 0);
  if (op == Op::Bitcast) return same_bits(in[0], type, (dying & 1) != 0);
  if (op == Op::Dot4) return dot4(from == DType::I32, in);
  if (type == DType::Bool) return logic(op, in);
  if (is_float(type)) return floating(op, type, in, dying);
  return integer(op, type, in, dying);
}

// Products of signed bytes, added up by twos and by fours. Where the bytes of a are not signed they
// are 128 less there, and 128 times the sum of b more.
BaseReg Arm::dot4(bool is_signed, std::span<const Operand> in) {
  const DType type = DType::I32;
  Vec a = any(type, in[0]);
  const Vec b = any(type, in[1]), c = any(type, in[2]);
  const Vec low = new_vector(), high = new_vector(), to = new_vector();
  if (!is_signed) {
    const Vec flipped = new_vector();
    cc_.eor(bits(flipped), bits(a), bits(any(type, constant(type, 0x80808080))));
    a = flipped;
  }
  cc_.smull(low.h8(), a.b8(), b.b8());
  cc_.smull2(high.h8(), a.b16(), b.b16());
  cc_.saddlp(low.s4(), low.h8());
  cc_.saddlp(high.s4(), high.h8());
  cc_.addp(to.s4(), low.s4(), high.s4());
  cc_.add(to.s4(), to.s4(), c.s4());
  if (is_signed) return to;
  cc_.saddlp(low.h8(), b.b16());
  cc_.saddlp(low.s4(), low.h8());
  cc_.shl(low.s4(), low.s4(), asmjit::imm(7));
  cc_.add(to.s4(), to.s4(), low.s4());
  return to;
}

// A register of its own: what a value's register holds may change when the value is dead.
BaseReg Arm::same_bits(const Operand& v, DType type, bool dies) {
  if (dies && v.isReg()) return v.as<BaseReg>();
  const BaseReg to = vector(type);
  copy_vector(type, to, v);
  return to;
}

std::optional<BaseReg> Arm::of_table(Op op, DType type, std::span<const Operand> in,
                                     uint32_t dying) {
  Id id = 0;
  if (is_float(type)) {
    for (const FloatId& row : kFloats)
      if (row.op == op) id = row.id;
  } else {
    for (const IntegerId& row : kIntegers)
      if (row.op == op && (is_signed_integer(type) ? row.for_signed : row.for_unsigned))
        id = is_wide(type) ? row.wide : row.id;
  }
  if (id == 0) return {};
  const bool second = (dying & 1) == 0 && in.size() == 2;
  const Vec to = second ? result_in(in[1], (dying & 2) != 0) : result_in(in[0], (dying & 1) != 0);
  const Vec a = lanes_of(type, in[0]);
  if (in.size() == 1) cc_.emit(id, lanes(type, to), a);
  else cc_.emit(id, lanes(type, to), a, lanes_of(type, in[1]));
  return to;
}

std::optional<BaseReg> Arm::floating(Op op, DType type, std::span<const Operand> in,
                                     uint32_t dying) {
  if (auto r = of_table(op, type, in, dying)) return r;
  switch (op) {
    case Op::Fma:
    case Op::Mad: return multiply_add(I::kIdFmla_v, type, in, dying);
    case Op::CopySign: {
      const BaseReg to = vector(type);
      copy_vector(type, to, constant(type, sign_bit(type)));
      cc_.bsl(bits(to), bits(any(type, in[1])), bits(any(type, in[0])));
      return to;
    }
    case Op::Sign: {
      const uint64_t one = is_wide(type) ? 0x3ff0000000000000u : 0x3f800000u;
      const Operand none = constant(type, 0);
      const BaseReg x = in_register(type, in[0]),
                    below = compare_lanes(I::kIdFcmgt_v, type, none, x),
                    above = compare_lanes(I::kIdFcmgt_v, type, x, none);
      const BaseReg least = blend(type, below, constant(type, one | sign_bit(type)), x);
      return blend(type, above, constant(type, one), least);
    }
    case Op::RoundF16: {
      const Vec to = new_vector();
      cc_.fcvtn(to.h4(), any(type, in[0]).s4());
      cc_.fcvtl(to.s4(), to.h4());
      return to;
    }
    case Op::RoundBF16: {
      const Vec to = bf16_bits(in[0]);
      cc_.shl(to.s4(), to.s4(), asmjit::imm(16));
      return to;
    }
    default: return {};
  }
}

// FMIN and FMAX are the minimum and maximum of IEEE 754-2019, NaN and zeros included.
BaseReg Arm::extreme_of_numbers(Op op, DType type, const Operand& a, const Operand& b) {
  return emit2(op == Op::Max ? I::kIdFmax_v : I::kIdFmin_v, type, a, b);
}

// a b + c, which overwrites a register that holds c.
BaseReg Arm::multiply_add(Id id, DType type, std::span<const Operand> in, uint32_t dying) {
  const Vec a = lanes_of(type, in[0]), b = lanes_of(type, in[1]);
  const BaseReg to = same_bits(in[2], type, (dying & 4) != 0);
  cc_.emit(id, lanes(type, to), a, b);
  return to;
}

std::optional<BaseReg> Arm::integer(Op op, DType type, std::span<const Operand> in,
                                    uint32_t dying) {
  if (auto r = of_table(op, type, in, dying)) return r;
  switch (op) {
    case Op::And:
    case Op::Or:
    case Op::Xor: {
      const Vec to = new_vector();
      cc_.emit(bitwise(op), bits(to), bits(any(type, in[0])), bits(any(type, in[1])));
      return to;
    }
    case Op::Not: {
      const Vec to = new_vector();
      cc_.not_(bits(to), bits(any(type, in[0])));
      return to;
    }
    case Op::Shl:
    case Op::Shr: return shift(op, type, in);
    case Op::Min:
    case Op::Max: {  // of 64 bits
      const bool max = op == Op::Max;
      const Id id = is_signed_integer(type) ? I::kIdCmgt_v : I::kIdCmhi_v;
      const BaseReg a = in_register(type, in[0]), b = in_register(type, in[1]);
      const BaseReg to = max ? emit2(id, type, a, b) : emit2(id, type, b, a);
      cc_.bsl(bits(to), bits(a), bits(b));
      return to;
    }
    case Op::Mul:
    case Op::Clz:
    case Op::Div:
    case Op::Rem: return by_lane(op, type, in);
    case Op::MulHi: return is_wide(type) ? by_lane(op, type, in) : upper_product(type, in);
    case Op::Fma:
    case Op::Mad: {
      if (!is_wide(type)) return multiply_add(I::kIdMla_v, type, in, dying);
      return emit2(I::kIdAdd_v, type, by_lane(Op::Mul, type, in.first(2)), in[2]);
    }
    case Op::Sign: {
      // -1 where it is below 0, less -1 where it is above.
      const Operand none = constant(type, 0);
      return emit2(I::kIdSub_v, type, emit2(I::kIdCmgt_v, type, none, in[0]),
                   emit2(I::kIdCmgt_v, type, in[0], none));
    }
    case Op::PopCount: {
      const Vec to = new_vector();
      cc_.cnt(to.b16(), bits(any(type, in[0])));
      cc_.uaddlp(to.h8(), to.b16());
      cc_.uaddlp(to.s4(), to.h8());
      if (is_wide(type)) cc_.uaddlp(to.d2(), to.s4());
      return to;
    }
    case Op::Wrap8:
    case Op::Wrap16: {
      const asmjit::Imm n = asmjit::imm(op == Op::Wrap8 ? 24 : 16);
      const Vec to = new_vector();
      cc_.shl(to.s4(), any(type, in[0]).s4(), n);
      cc_.emit(is_signed_integer(type) ? I::kIdSshr_v : I::kIdUshr_v, to.s4(), to.s4(), n);
      return to;
    }
    default: return {};
  }
}

// The upper halves of 64-bit products.
BaseReg Arm::upper_product(DType type, std::span<const Operand> in) {
  const bool is_signed = is_signed_integer(type);
  const Vec a = any(type, in[0]), b = any(type, in[1]), low = new_vector(), high = new_vector();
  cc_.emit(is_signed ? I::kIdSmull_v : I::kIdUmull_v, low.d2(), a.s2(), b.s2());
  cc_.emit(is_signed ? I::kIdSmull2_v : I::kIdUmull2_v, high.d2(), a.s4(), b.s4());
  cc_.uzp2(low.s4(), low.s4(), high.s4());
  return low;
}

// A quotient or the upper half of a product; false of other operations. The processor's quotient by
// 0 is 0, and that of the smallest number by -1 wraps around.
bool Arm::divide(Op op, DType type, const Gp& to, const Gp& a, const Gp& b) {
  const bool wide = is_wide(type), is_signed = is_signed_integer(type);
  if (op == Op::MulHi) {
    if (wide) {
      cc_.emit(is_signed ? I::kIdSmulh : I::kIdUmulh, to, a, b);
    } else {
      cc_.emit(is_signed ? I::kIdSmull : I::kIdUmull, to.x(), a, b);
      cc_.lsr(to.x(), to.x(), asmjit::imm(32));
    }
    return true;
  }
  if (op != Op::Div && op != Op::Rem) return false;
  const Gp quotient = gp(cc_.newGpx(), wide);
  cc_.emit(is_signed ? I::kIdSdiv : I::kIdUdiv, quotient, a, b);
  if (op == Op::Div) {
    cc_.mov(to, quotient);
    return true;
  }
  const Gp none = gp(cc_.newGpx(), wide);
  cc_.msub(quotient, quotient, b, a);
  cc_.mov(none, asmjit::imm(0));
  cc_.cmp(b, asmjit::imm(0));
  cc_.csel(to, none, quotient, asmjit::imm(static_cast<uint32_t>(a64::CondCode::kEQ)));
  return true;
}

// What vectors have no instruction for.
BaseReg Arm::by_lane(Op op, DType type, std::span<const Operand> in) {
  const bool wide = is_wide(type);
  const BaseReg a = in_register(type, in[0]);
  const BaseReg b = in.size() == 2 ? in_register(type, in[1]) : BaseReg();
  const Vec to = new_vector();
  for (uint32_t l = 0; l < width; l++) {
    const Gp x = gp(cc_.newGpx(), wide), y = gp(cc_.newGpx(), wide);
    cc_.umov(x, lane(type, a, l));
    if (b.isValid()) cc_.umov(y, lane(type, b, l));
    if (op == Op::Clz) cc_.clz(x, x);
    else if (op == Op::Mul) cc_.mul(x, x, y);
    else divide(op, type, x, x, y);
    if (l == 0) cc_.dup(lanes(type, to), x);
    else cc_.ins(lane(type, to, l), x);
  }
  return to;
}

// The count is an immediate, or lanes of 32 bits that count modulo the width. A shift by a register
// goes to the right where the count is below 0.
BaseReg Arm::shift(Op op, DType type, std::span<const Operand> in) {
  const bool left = op == Op::Shl, is_signed = is_signed_integer(type), wide = is_wide(type);
  const Vec to = new_vector();
  if (in[1].isImm()) {
    const uint64_t n = in[1].as<asmjit::Imm>().valueAs<uint64_t>() % (wide ? 64 : 32);
    if (n == 0) return same_bits(in[0], type, false);
    const Id id = left ? I::kIdShl_v : is_signed ? I::kIdSshr_v : I::kIdUshr_v;
    cc_.emit(id, lanes(type, to), lanes_of(type, in[0]), asmjit::imm(n));
    return to;
  }
  const Vec count = new_vector();
  Vec given = any(DType::U32, in[1]);
  if (wide) given = widen_integer(DType::U32, given).as<Vec>();
  cc_.and_(bits(count), bits(given), bits(any(type, constant(type, wide ? 63 : 31))));
  if (!left) cc_.neg(lanes(type, count), lanes(type, count));
  cc_.emit(is_signed ? I::kIdSshl_v : I::kIdUshl_v, lanes(type, to), lanes_of(type, in[0]),
           lanes(type, count));
  return to;
}

// ---- Masks --------------------------------------------------------------------------------------

BaseReg Arm::opposite(BaseReg mask) {
  const Vec to = new_vector();
  cc_.not_(bits(to), bits(mask));
  return to;
}

std::optional<BaseReg> Arm::logic(Op op, std::span<const Operand> in) {
  if (op == Op::Not) return opposite(in[0].as<BaseReg>());
  if (op != Op::And && op != Op::Or && op != Op::Xor) return {};
  const Vec to = new_vector();
  cc_.emit(bitwise(op), bits(to), bits(in[0].as<BaseReg>()), bits(in[1].as<BaseReg>()));
  return to;
}

BaseReg Arm::mask_and(BaseReg a, BaseReg b) {
  const Operand in[] = {a, b};
  return *logic(Op::And, in);
}

BaseReg Arm::mask_and_not(BaseReg a, BaseReg b) {
  const Vec to = new_vector();
  cc_.bic(bits(to), bits(a), bits(b));
  return to;
}

void Arm::first_lanes(BaseReg lanes, std::span<BaseReg> masks) {
  const BaseReg some = scalar(), edge = scalar(), count = vector(DType::I32);
  set(edge, static_cast<int64_t>(masks.size()) * width);
  scalar_op(Op::Min, DType::I64, some, lanes, edge);
  set(edge, 0);
  scalar_op(Op::Max, DType::I64, some, some, edge);
  broadcast(DType::I32, count, some);
  for (uint32_t k = 0; k < masks.size(); k++)
    masks[k] = emit2(I::kIdCmgt_v, DType::I32, count,
                     numbers(DType::I32, [&](uint32_t l) { return k * width + l; }));
}

void Arm::jump_if_none(std::span<const BaseReg> masks, Label to) {
  BaseReg all = masks[0];
  const Vec some = new_vector();
  for (size_t k = 1; k < masks.size(); k++) {
    cc_.orr(bits(some), bits(all), bits(masks[k]));
    all = some;
  }
  if (!wide_) {
    cc_.umaxp(some.s4(), all.as<Vec>().s4(), all.as<Vec>().s4());
    all = some;
  }
  const Gp found = cc_.newGpx();
  cc_.umov(found, all.as<Vec>().d(0));
  cc_.cbz(found, to);
}

BaseReg Arm::blend(DType type, BaseReg mask, const Operand& yes, const Operand& no) {
  const Vec a = any(type, yes), b = any(type, no);
  const Vec to = widened(type, mask);
  cc_.bsl(bits(to), bits(a), bits(b));
  return to;
}

void Arm::merge(DType type, BaseReg mask, BaseReg to, const Operand& from, bool /*dies*/) {
  const Vec chosen = is_wide(type) ? widened(type, mask) : mask.as<Vec>();
  cc_.bit(bits(to), bits(any(type, from)), bits(chosen));
}

BaseReg Arm::upper_half(DType type, BaseReg value, uint32_t half) {
  const BaseReg upper = vector(type);
  cc_.ext(bits(upper), bits(value), bits(value), asmjit::imm(half));
  return upper;
}

}  // namespace hologram::jit
