// Extremes of floats.
#include <algorithm>

#include "jit/x86.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;

// IEEE 754-2019 minimum and maximum: the processor's own answer their second operand for NaN, and
// for zeros of either sign.
BaseReg X86::least_or_most(bool max, DType type, std::span<const Operand> in) {
  const bool eight = type == DType::F64;
  const Vec a = any(type, in[0]);
  const Op op = max ? Op::Max : Op::Min;
  if (avx512_) {
    const KReg nan = width == 16 ? cc_.newKw() : cc_.newKb();
    cc_.emit(eight ? I::kIdVcmppd : I::kIdVcmpps, nan, a, in[1], kUnordered);
    const Vec to = extreme_of_numbers(op, type, a, in[1]).as<Vec>();
    cc_.k(nan).emit(eight ? I::kIdVaddpd : I::kIdVaddps, to, a, in[1]);
    return to;
  }
  const Vec b = any(type, in[1]), nan = of(type), sum = of(type);
  const Vec to = extreme_of_numbers(op, type, a, b).as<Vec>();
  cc_.emit(eight ? I::kIdVcmppd : I::kIdVcmpps, nan, a, b, kUnordered);
  cc_.emit(eight ? I::kIdVaddpd : I::kIdVaddps, sum, a, b);
  cc_.emit(eight ? I::kIdVblendvpd : I::kIdVblendvps, to, to, sum, nan);
  return to;
}

BaseReg X86::strict_extreme(Op op, DType type, const Operand& a, const Operand& b) {
  const bool eight = type == DType::F64;
  const Vec x = any(type, a), to = of(type);
  if (op == Op::Min) cc_.emit(eight ? I::kIdVminpd : I::kIdVminps, to, x, b);
  else cc_.emit(eight ? I::kIdVmaxpd : I::kIdVmaxps, to, x, b);
  return to;
}

BaseReg X86::extreme_of_numbers(Op op, DType type, const Operand& a, const Operand& b) {
  const bool eight = type == DType::F64, max = op == Op::Max;
  const Vec x = any(type, a), to = of(type);
  if (avx512_) {
    // VRANGE tells zeros apart, but gives the number where one operand is NaN.
    cc_.emit(eight ? I::kIdVrangepd : I::kIdVrangeps, to, x, b, max ? 5 : 4);
    return to;
  }
  const Vec y = any(type, b), equal = of(type), both = of(type);
  cc_.emit(eight ? I::kIdVcmppd : I::kIdVcmpps, equal, x, y, 0);
  const Id extreme =
      max ? (eight ? I::kIdVmaxpd : I::kIdVmaxps) : (eight ? I::kIdVminpd : I::kIdVminps);
  cc_.emit(extreme, to, x, y);
  bitwise(max ? Op::And : Op::Or, both, x, y);
  cc_.emit(eight ? I::kIdVblendvpd : I::kIdVblendvps, to, to, both, equal);
  return to;
}

bool X86::jump_if_nan(DType type, std::span<const Operand> in, Label to) {
  const Id compare = type == DType::F64 ? I::kIdVcmppd : I::kIdVcmpps;
  BaseReg all;
  for (size_t k = 0; k < in.size(); k += 2) {
    const BaseReg nan = avx512_ ? vector(DType::Bool) : BaseReg(of(type));
    cc_.emit(compare, nan, any(type, in[k]), in[std::min(k + 1, in.size() - 1)], kUnordered);
    if (k == 0) all = nan;
    else add_retry(all, nan);
  }
  jump_if_retry(type, all, to);
  return true;
}

void X86::jump_if_zero(DType type, BaseReg x, Label to) {
  const Vec zero = sized(16);
  cc_.vpxor(zero, zero, zero);
  cc_.emit(type == DType::F64 ? I::kIdVucomisd : I::kIdVucomiss, part(x, 16), zero);
  cc_.je(to);
}

// ---- Of many ------------------------------------------------------------------------------------

// VMAXPS(x, of_all) leaves `of_all` where neither is more: a NaN among x is lost, and so is a 0
// after -0, the only zero that may be wrong. A minimum would have to be retried for every 0.
bool X86::gathers_extremes(Op op) const { return avx512_ || op == Op::Max; }

BaseReg X86::gather_extreme(Op op, DType type, const Operand& x, const Operand& of_all) {
  return avx512_ ? extreme_of_numbers(op, type, x, of_all) : strict_extreme(op, type, x, of_all);
}

BaseReg X86::no_retry(DType type) {
  if (avx512_) {
    const BaseReg none = vector(DType::Bool);
    cc_.emit(width == 16 ? I::kIdKxorw : I::kIdKxorb, none, none, none);
    return none;
  }
  const Vec none = of(type);
  cc_.vpxor(none, none, none);
  return none;
}

void X86::add_retry(BaseReg retry, BaseReg more) {
  if (avx512_) cc_.emit(width == 16 ? I::kIdKorw : I::kIdKorb, retry, retry, more);
  else bitwise(Op::Or, retry.as<Vec>(), retry, more);
}

void X86::retry_if_nan(DType type, BaseReg retry, BaseReg a, BaseReg b) {
  const BaseReg nan = avx512_ ? vector(DType::Bool) : BaseReg(of(type));
  cc_.emit(type == DType::F64 ? I::kIdVcmppd : I::kIdVcmpps, nan, a, b, kUnordered);
  add_retry(retry, nan);
}

void X86::retry_if_unsure(Op /*op*/, DType type, BaseReg retry, const Operand& result) {
  if (avx512_) return;  // VRANGE tells zeros apart
  const bool eight = type == DType::F64;
  const Vec is_zero = of(type);
  const uint64_t sign = uint64_t{1} << (eight ? 63 : 31);
  cc_.emit(eight ? I::kIdVpcmpeqq : I::kIdVpcmpeqd, is_zero, any(type, result),
           constant(eight ? DType::U64 : DType::U32, sign));
  add_retry(retry, is_zero);
}

void X86::jump_if_retry(DType /*type*/, BaseReg retry, Label to) {
  if (avx512_) {
    cc_.emit(width == 16 ? I::kIdKortestw : I::kIdKortestb, retry, retry);
  } else {
    const Gp bits = cc_.newGpq();
    cc_.vmovmskps(bits.r32(), retry.as<Vec>());
    cc_.test(gp32(bits), gp32(bits));
  }
  cc_.jnz(to);
}

}  // namespace hologram::jit
