// Functions by instructions that do more than the language has.
#include <bit>

#include "jit/x86.hpp"
#include "program/expansions/exp.hpp"
#include "program/expansions/hyperbolic.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;
using asmjit::InstId;
namespace ex = program::expansions::portable;

namespace {

using Exp = ex::ExpConstants<32>;

// The instruction for f32, or that for f64.
InstId for_type(DType type, InstId four, InstId eight) { return type == DType::F64 ? eight : four; }

}  // namespace

Operand X86::number(double value, DType type) {
  if (type == DType::F64) return constant(type, std::bit_cast<uint64_t>(value));
  return constant(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
}

// x = n ln 2 + r.
template <int kBits>
X86::ExpArgument X86::reduce_exp(Vec x) {
  using T = ex::ExpConstants<kBits>;
  constexpr DType kType = kBits == 64 ? DType::F64 : DType::F32;
  const auto fused = [&](Vec to, const Operand& a, const Operand& b) {
    cc_.emit(for_type(kType, I::kIdVfmadd231ps, I::kIdVfmadd231pd), to, a, b);
  };
  const Vec n = of(kType), r = of(kType);
  const Operand anchor = number(ex::anchor<kBits>(0), kType);
  move(n, anchor);
  fused(n, x, number(ex::kLog2E, kType));
  cc_.emit(for_type(kType, I::kIdVsubps, I::kIdVsubpd), n, n, anchor);
  move(r, x);
  fused(r, n, number(-T::ln2_hi, kType));
  fused(r, n, number(-T::ln2_lo, kType));
  return {n, r};
}

// r + r^2 (c[0] + c[1] r + …), by pairs where the expansions' polynomial() is.
X86::Vec X86::near_identity(DType type, Vec r, std::span<const double> c) {
  const InstId multiply = for_type(type, I::kIdVmulps, I::kIdVmulpd),
               fused = for_type(type, I::kIdVfmadd213ps, I::kIdVfmadd213pd);
  const Vec square = of(type);
  cc_.emit(multiply, square, r, r);
  const auto from = [&](size_t at, bool pair) {
    const Vec p = of(type);
    move(p, number(c[at], type));
    if (pair)
      cc_.emit(for_type(type, I::kIdVfmadd231ps, I::kIdVfmadd231pd), p, r, number(c[at + 1], type));
    return p;
  };
  const bool by_pairs = c.size() >= ex::kLeastPairs;
  size_t at = by_pairs ? (c.size() - 1) / 2 * 2 : c.size() - 1;
  const Vec p = from(at, by_pairs && at + 1 < c.size());
  while (at > 0) {
    if (by_pairs) cc_.emit(fused, p, square, from(at -= 2, true));
    else cc_.emit(fused, p, r, number(c[at -= 1], type));
  }
  cc_.emit(fused, p, square, r);
  return p;
}

// exp as its expansion has it, but for the last step: VSCALEF multiplies by 2^n and rounds once,
// over- and underflow, infinities and NaN included. Where n is far out, what it multiplies only has
// to be positive and finite: VRANGE makes at most 1 of the remainder, also where that is NaN.
template <int kBits>
BaseReg X86::exponential(const Operand& v) {
  constexpr DType kType = kBits == 64 ? DType::F64 : DType::F32;
  constexpr int kLeastMagnitude = 2;
  const auto [n, r] = reduce_exp<kBits>(any(kType, v));
  const Operand one = number(1, kType);
  cc_.emit(for_type(kType, I::kIdVrangeps, I::kIdVrangepd), r, r, one, kLeastMagnitude);
  const Vec p = near_identity(kType, r, ex::ExpConstants<kBits>::tail);
  cc_.emit(for_type(kType, I::kIdVaddps, I::kIdVaddpd), p, p, one);
  cc_.emit(for_type(kType, I::kIdVscalefps, I::kIdVscalefpd), p, p, n);
  return p;
}

BaseReg X86::exponential(DType type, const Operand& v) {
  return type == DType::F64 ? exponential<64>(v) : exponential<32>(v);
}

// sigmoid as its expansion has it, but for 2^n, which VSCALEF makes of any n. VMIN and VMAX give
// their second operand where that is NaN.
BaseReg X86::sigmoid(const Operand& v) {
  using T = ex::HyperbolicConstants<32>;
  constexpr DType type = DType::F32;
  const Vec x = of(type), low = of(type), one = of(type), s = of(type), sum = of(type);
  move(x, number(T::sigmoid_one));
  cc_.emit(I::kIdVminps, x, x, v);
  move(low, number(Exp::underflow));
  cc_.emit(I::kIdVmaxps, x, low, x);
  const auto [n, r] = reduce_exp<32>(x);
  const Vec m = near_identity(type, r, Exp::decay_tail);
  move(one, number(1));
  cc_.emit(I::kIdVscalefps, s, one, n);
  const Operand sign[] = {n, number(0)};
  const BaseReg below = *compare(Op::Lt, type, sign);
  cc_.emit(I::kIdVaddps, sum, s, one);
  merge(type, below, sum, one, false);
  cc_.k(below.as<KReg>()).emit(I::kIdVsubps, m, m, s);
  cc_.emit(I::kIdVsubps, sum, sum, m);
  cc_.emit(I::kIdVdivps, s, s, sum);
  return s;
}

}  // namespace hologram::jit
