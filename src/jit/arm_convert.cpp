// Comparison and conversion of vectors.
#include "jit/arm.hpp"

namespace hologram::jit {

namespace a64 = asmjit::a64;

namespace {

using I = a64::Inst;

// a op b, or b op a; the opposite where negated. Of floats, of signed and of unsigned integers.
struct Comparison {
  Op op;
  bool swapped, negated;
  asmjit::InstId floats, for_signed, for_unsigned;
};
constexpr Comparison kComparisons[] = {
    {Op::Eq, false, false, I::kIdFcmeq_v, I::kIdCmeq_v, I::kIdCmeq_v},
    {Op::Ne, false, true, I::kIdFcmeq_v, I::kIdCmeq_v, I::kIdCmeq_v},
    {Op::Lt, true, false, I::kIdFcmgt_v, I::kIdCmgt_v, I::kIdCmhi_v},
    {Op::Le, true, false, I::kIdFcmge_v, I::kIdCmge_v, I::kIdCmhs_v},
    {Op::Gt, false, false, I::kIdFcmgt_v, I::kIdCmgt_v, I::kIdCmhi_v},
    {Op::Ge, false, false, I::kIdFcmge_v, I::kIdCmge_v, I::kIdCmhs_v},
};

const Comparison& comparison(Op op) {
  return kComparisons[static_cast<size_t>(op) - static_cast<size_t>(Op::Eq)];
}

}  // namespace

// A mask of lanes of the type to one of 32-bit lanes, and back to a new register.
BaseReg Arm::narrowed(DType from, const Vec& mask) {
  if (is_wide(from)) cc_.xtn(mask.s2(), mask.d2());
  return mask;
}

Arm::Vec Arm::widened(DType type, BaseReg mask) {
  const Vec to = new_vector();
  if (is_wide(type)) cc_.sshll(to.d2(), mask.as<Vec>().s2(), asmjit::imm(0));
  else cc_.mov(bits(to), bits(mask));
  return to;
}

BaseReg Arm::compare_lanes(Id id, DType from, const Operand& a, const Operand& b) {
  return narrowed(from, emit2(id, from, a, b).as<Vec>());
}

BaseReg Arm::compare_not(Op op, DType from, std::span<const Operand> in) {
  const Comparison& c = comparison(op);
  const BaseReg is = compare_lanes(c.floats, from, in[c.swapped], in[!c.swapped]);
  return c.negated ? is : opposite(is);
}

std::optional<BaseReg> Arm::compare(Op op, DType from, std::span<const Operand> in) {
  if (from == DType::Bool) {
    const auto differ = logic(Op::Xor, in);
    return op == Op::Ne ? differ : op == Op::Eq ? opposite(*differ) : std::optional<BaseReg>();
  }
  if (op == Op::IsNan) return opposite(compare_lanes(I::kIdFcmeq_v, from, in[0], in[0]));
  if (op == Op::IsInf || op == Op::IsFinite) {
    const Operand magnitude = emit1(I::kIdFabs_v, from, in[0]);
    const Operand infinity =
        constant(from, is_wide(from) ? uint64_t{0x7ff0000000000000u} : uint64_t{0x7f800000u});
    return compare_lanes(op == Op::IsInf ? I::kIdFcmeq_v : I::kIdFcmgt_v, from, infinity,
                         magnitude);
  }
  const Comparison& c = comparison(op);
  const Id id = is_float(from) ? c.floats : is_signed_integer(from) ? c.for_signed : c.for_unsigned;
  const BaseReg is = compare_lanes(id, from, in[c.swapped], in[!c.swapped]);
  return c.negated ? opposite(is) : is;
}

// ---- Conversion ---------------------------------------------------------------------------------

BaseReg Arm::widen_integer(DType from, const Operand& v) {
  const Vec to = new_vector();
  cc_.emit(is_signed_integer(from) ? I::kIdSshll_v : I::kIdUshll_v, to.d2(), any(from, v).s2(),
           asmjit::imm(0));
  return to;
}

// The instructions truncate and saturate and make 0 of NaN, as the language does. By way of f64 or
// 64 bits nothing is lost.
BaseReg Arm::float_to_integer(DType to, DType from, const Operand& v) {
  const bool is_signed = is_signed_integer(to), far = is_wide(to) || is_wide(from);
  const auto id = is_signed ? I::kIdFcvtzs_v : I::kIdFcvtzu_v;
  if (!far) return emit1(id, to, v);
  Operand x = v;
  if (!is_wide(from)) x = cast(DType::F64, from, v, false);
  const Vec r = emit1(id, DType::I64, x).as<Vec>();
  if (!is_wide(to)) cc_.emit(is_signed ? I::kIdSqxtn_v : I::kIdUqxtn_v, r.s2(), r.d2());
  return r;
}

BaseReg Arm::integer_to_float(DType to, DType from, const Operand& v) {
  const bool is_signed = is_signed_integer(from);
  const auto id = is_signed ? I::kIdScvtf_v : I::kIdUcvtf_v;
  if (is_wide(to) == is_wide(from)) return emit1(id, to, v);
  if (is_wide(to)) return emit1(id, to, widen_integer(from, v));
  // By way of f64 it would be rounded twice.
  const BaseReg x = in_register(from, v);
  const Vec r = new_vector();
  for (uint32_t l = 0; l < width; l++) {
    const Gp n = cc_.newGpx();
    const Vec one = new_vector();
    cc_.umov(n, lane(from, x, l));
    cc_.emit(id, one.s(), n);
    if (l == 0) cc_.dup(lanes(to, r), lane(to, one, 0));
    else cc_.ins(lane(to, r, l), lane(to, one, 0));
  }
  return r;
}

BaseReg Arm::cast(DType to, DType from, const Operand& v, bool dies) {
  if (to == from) return same_bits(v, to, dies);
  if (from == DType::Bool) {
    const uint64_t one = to == DType::F32   ? 0x3f800000u
                         : to == DType::F64 ? 0x3ff0000000000000u
                                            : 1u;
    const Vec r = widened(to, v.as<BaseReg>());
    cc_.and_(bits(r), bits(r), bits(any(to, constant(to, one))));
    return r;
  }
  if (to == DType::Bool) {
    const Operand in[] = {v, constant(from, 0)};
    return *compare(Op::Ne, from, in);
  }
  if (is_float(from) && !is_float(to)) return float_to_integer(to, from, v);
  if (is_float(to) && !is_float(from)) return integer_to_float(to, from, v);
  if (size_of(to) == size_of(from)) return same_bits(v, to, dies);
  if (!is_float(to) && is_wide(to)) return widen_integer(from, v);
  const Vec x = any(from, v), r = new_vector();
  if (to == DType::F64) cc_.fcvtl(r.d2(), x.s2());
  else if (to == DType::F32) cc_.fcvtn(r.s2(), x.d2());
  else cc_.xtn(r.s2(), x.d2());
  return r;
}

// The upper halves of f32 lanes after rounding, as integers; NaN stays NaN.
Arm::Vec Arm::bf16_bits(const Operand& v) {
  const Vec x = any(DType::F32, v), r = new_vector(), quiet = new_vector();
  cc_.ushr(r.s4(), x.s4(), asmjit::imm(16));
  cc_.and_(bits(r), bits(r), bits(any(DType::U32, constant(DType::U32, 1))));
  cc_.add(r.s4(), r.s4(), any(DType::U32, constant(DType::U32, 0x7fff)).s4());
  cc_.add(r.s4(), r.s4(), x.s4());
  cc_.orr(bits(quiet), bits(x), bits(any(DType::U32, constant(DType::U32, 0x00400000u))));
  const BaseReg number = compare_lanes(I::kIdFcmeq_v, DType::F32, x, x);
  cc_.bif(bits(r), bits(quiet), bits(number));
  cc_.ushr(r.s4(), r.s4(), asmjit::imm(16));
  return r;
}

}  // namespace hologram::jit
