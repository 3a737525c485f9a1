// Comparison and conversion of vectors.
#include "jit/x86.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

namespace {

// The predicates of VCMPPS that do not signal, of VPCMPD.
uint32_t float_predicate(Op op) {
  switch (op) {
    case Op::Eq: return 0;
    case Op::Ne: return 4;
    case Op::Lt: return 0x11;
    case Op::Le: return 0x12;
    case Op::Gt: return 0x1e;
    default: return 0x1d;
  }
}
uint32_t integer_predicate(Op op) {
  switch (op) {
    case Op::Eq: return 0;
    case Op::Lt: return 1;
    case Op::Le: return 2;
    case Op::Ne: return 4;
    case Op::Ge: return 5;
    default: return 6;
  }
}

}  // namespace

BaseReg X86::narrowed(Vec mask64) {
  // The lower halves of the 64-bit lanes.
  const Vec high = cc_.newXmm(), to = cc_.newXmm();
  cc_.vextracti128(high.xmm(), mask64.ymm(), 1);
  cc_.vshufps(to.xmm(), mask64.xmm(), high.xmm(), 0x88);
  return to;
}

X86::Vec X86::widened(BaseReg mask) {
  const Vec to = cc_.newYmm();
  cc_.vpmovsxdq(to, part(mask, 16));
  return to;
}

BaseReg X86::compare_floats(uint32_t predicate, DType from, Vec a, const Operand& b) {
  const bool eight = from == DType::F64;
  const asmjit::InstId id = eight ? I::kIdVcmppd : I::kIdVcmpps;
  if (avx512_) {
    const BaseReg to = vector(DType::Bool);
    cc_.emit(id, to, a, b, predicate);
    return to;
  }
  const Vec to = of(from);
  cc_.emit(id, to, a, b, predicate);
  return eight ? narrowed(to) : BaseReg(to);
}

// The lower four bits of a predicate tell four outcomes apart; the other four are their opposites.
BaseReg X86::compare_not(Op op, DType from, std::span<const Operand> in) {
  return compare_floats(float_predicate(op) ^ 4, from, any(from, in[0]), in[1]);
}

std::optional<BaseReg> X86::compare(Op op, DType from, std::span<const Operand> in) {
  if (from == DType::Bool) {
    auto differ = logic(Op::Xor, in);
    if (op == Op::Ne) return differ;
    const Operand one[] = {*differ};
    return op == Op::Eq ? logic(Op::Not, one) : std::nullopt;
  }
  if (!is_float(from)) return compare_integers(op, from, in);
  const Vec a = any(from, in[0]);
  if (op == Op::IsNan) return compare_floats(kUnordered, from, a, a);
  if (op == Op::IsInf || op == Op::IsFinite) {
    const Vec magnitude = of(from);
    const uint64_t sign = is_wide(from) ? uint64_t{1} << 63 : uint64_t{1} << 31;
    const uint64_t infinity = is_wide(from) ? 0x7ff0000000000000u : 0x7f800000u;
    bitwise(Op::And, magnitude, a, constant(from, sign - 1));
    return compare_floats(float_predicate(op == Op::IsInf ? Op::Eq : Op::Lt), from, magnitude,
                          constant(from, infinity));
  }
  return compare_floats(float_predicate(op), from, a, in[1]);
}

// AVX2: all bits of the lanes where a is greater. The processor compares signed numbers only, in
// whose order the unsigned ones are without their first bit.
X86::Vec X86::where_greater(DType type, Vec a, Vec b) {
  const bool eight = is_wide(type);
  const auto in_order = [&](Vec v) {
    if (is_signed_integer(type)) return v;
    const Vec flipped = of(type);
    bitwise(Op::Xor, flipped, v, constant(type, eight ? uint64_t{1} << 63 : uint64_t{1} << 31));
    return flipped;
  };
  const Vec to = of(type), x = in_order(a), y = in_order(b);
  cc_.emit(eight ? I::kIdVpcmpgtq : I::kIdVpcmpgtd, to, x, y);
  return to;
}

std::optional<BaseReg> X86::compare_integers(Op op, DType from, std::span<const Operand> in) {
  const bool eight = is_wide(from);
  const Vec a = any(from, in[0]);
  if (avx512_) {
    const asmjit::InstId id = is_signed_integer(from) ? (eight ? I::kIdVpcmpq : I::kIdVpcmpd)
                                                      : (eight ? I::kIdVpcmpuq : I::kIdVpcmpud);
    const BaseReg to = vector(DType::Bool);
    cc_.emit(id, to, a, in[1], integer_predicate(op));
    return to;
  }
  const Vec b = any(from, in[1]);
  const bool swapped = op == Op::Lt || op == Op::Ge,
             negated = op == Op::Ne || op == Op::Le || op == Op::Ge;
  Vec wide;
  if (op == Op::Eq || op == Op::Ne) {
    wide = of(from);
    cc_.emit(eight ? I::kIdVpcmpeqq : I::kIdVpcmpeqd, wide, a, b);
  } else {
    wide = swapped ? where_greater(from, b, a) : where_greater(from, a, b);
  }
  const BaseReg to = eight ? narrowed(wide) : BaseReg(wide);
  if (!negated) return to;
  const Operand one[] = {to};
  return logic(Op::Not, one);
}

// ---- Conversion ---------------------------------------------------------------------------------

// Truncates and saturates; NaN gives 0. The processor gives the smallest integer for what does not
// fit.
BaseReg X86::to_i32(DType from, const Operand& v) {
  const bool eight = from == DType::F64;
  const Vec x = any(from, v), to = of(DType::I32);
  cc_.emit(eight ? I::kIdVcvttpd2dq : I::kIdVcvttps2dq, to, x);
  const Operand too_large = constant(from, eight ? 0x41e0000000000000u : 0x4f000000u);  // 2^31
  const BaseReg above = compare_floats(float_predicate(Op::Ge), from, x, too_large);
  const BaseReg ordered = compare_floats(7, from, x, x);
  const BaseReg most =
      blend(DType::I32, above, in_register(DType::I32, constant(DType::I32, INT32_MAX)), to);
  return blend(DType::I32, ordered, most, in_register(DType::I32, constant(DType::I32, 0)));
}

// Without AVX-512 numbers are signed. Both halves are exact, and their sum is rounded once.
BaseReg X86::u32_to_f32(const Operand& v) {
  const Vec x = any(DType::U32, v), low = of(DType::U32), high = of(DType::U32);
  bitwise(Op::And, low, x, constant(DType::U32, 0xffff));
  cc_.vpsrld(high, x, 16);
  cc_.vcvtdq2ps(low, low);
  cc_.vcvtdq2ps(high, high);
  cc_.vfmadd132ps(high, low, any(DType::F32, constant(DType::F32, 0x47800000u)));  // 2^16
  return high;
}
BaseReg X86::u32_to_f64(const Operand& v) {
  const Vec x = of(DType::U32), to = of(DType::F64);
  bitwise(Op::Xor, x, any(DType::U32, v), constant(DType::U32, 0x80000000u));
  cc_.vcvtdq2pd(to, x);
  cc_.vaddpd(to, to, any(DType::F64, constant(DType::F64, 0x41e0000000000000u)));  // 2^31
  return to;
}

std::optional<BaseReg> X86::cast(DType to, DType from, const Operand& v, bool dies) {
  if (to == from) return same_bits(to, v, dies);
  if (from == DType::Bool) {
    const uint64_t one = to == DType::F32   ? 0x3f800000u
                         : to == DType::F64 ? 0x3ff0000000000000u
                                            : 1u;
    return blend(to, v.as<BaseReg>(), constant(to, one), constant(to, 0));
  }
  if (to == DType::Bool) {
    const Operand in[] = {v, constant(from, 0)};
    return compare(Op::Ne, from, in);
  }
  const bool same_size = !is_float(to) && !is_float(from) && size_of(to) == size_of(from);
  if (same_size) return same_bits(to, v, dies);
  const auto emit = [&](asmjit::InstId id) -> std::optional<BaseReg> {
    const Vec x = any(from, v), r = of(to);
    cc_.emit(id, r, x);
    return r;
  };
  if (to == DType::I32 && is_float(from)) return to_i32(from, v);
  if (to == DType::F32 && from == DType::I32) return emit(I::kIdVcvtdq2ps);
  if (to == DType::F32 && from == DType::U32)
    return avx512_ ? emit(I::kIdVcvtudq2ps) : u32_to_f32(v);
  if (to == DType::F64 && from == DType::F32) return emit(I::kIdVcvtps2pd);
  if (to == DType::F32 && from == DType::F64) return emit(I::kIdVcvtpd2ps);
  if (to == DType::F64 && from == DType::I32) return emit(I::kIdVcvtdq2pd);
  if (to == DType::F64 && from == DType::U32)
    return avx512_ ? emit(I::kIdVcvtudq2pd) : u32_to_f64(v);
  if (to == DType::F64 && from == DType::I64 && avx512_) return emit(I::kIdVcvtqq2pd);
  if (to == DType::F64 && is_wide(from) && !avx512_) return wide_to_f64(from, v);
  if (is_float(to) || is_float(from)) return {};
  if (is_wide(to)) return emit(is_signed_integer(from) ? I::kIdVpmovsxdq : I::kIdVpmovzxdq);
  if (avx512_) return emit(I::kIdVpmovqd);
  return narrowed(any(from, v));
}

// The upper halves of f32 lanes after rounding, as integers; NaN stays NaN.
X86::Vec X86::bf16_bits(const Operand& v) {
  const Vec x = any(DType::F32, v), r = of(DType::U32), odd = of(DType::U32);
  cc_.vpsrld(odd, x, 16);
  bitwise(Op::And, odd, odd, constant(DType::U32, 1));
  const Operand first[] = {odd, constant(DType::U32, 0x7fff)};
  const BaseReg more = *integer(Op::Add, DType::U32, first, 0);
  const Operand second[] = {x, more};
  const BaseReg rounded = *integer(Op::Add, DType::U32, second, 0);
  const Vec quiet = of(DType::U32);
  bitwise(Op::Or, quiet, x, constant(DType::U32, 0x00400000u));
  const BaseReg nan = compare_floats(kUnordered, DType::F32, x, x);
  const BaseReg chosen = blend(DType::U32, nan, quiet, rounded);
  cc_.vpsrld(r, chosen.as<Vec>(), 16);
  return r;
}

}  // namespace hologram::jit
