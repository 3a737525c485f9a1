// Functions by instructions that do more than the language has.
#include <bit>

#include "jit/x86.hpp"
#include "program/expansions/exp.hpp"
#include "program/expansions/hyperbolic.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;
namespace ex = program::expansions::portable;

namespace {

using Exp = ex::ExpConstants<32>;

}  // namespace

Operand X86::number(double value) {
  return constant(DType::F32, std::bit_cast<uint32_t>(static_cast<float>(value)));
}

// x = n ln 2 + r.
X86::ExpArgument X86::reduce_exp(Vec x) {
  constexpr int kNearest = 8;
  const Vec n = of(DType::F32), r = of(DType::F32);
  cc_.emit(I::kIdVmulps, n, x, number(ex::kLog2E));
  cc_.emit(I::kIdVrndscaleps, n, n, kNearest);
  move(r, n);
  cc_.emit(I::kIdVfmadd132ps, r, x, number(-Exp::ln2_hi));
  cc_.emit(I::kIdVfmadd231ps, r, n, number(-Exp::ln2_lo));
  return {n, r};
}

// r + r^2 (c[0] + c[1] r + …), by pairs where the expansions' polynomial() is.
X86::Vec X86::near_identity(Vec r, std::span<const double> c) {
  const Vec square = of(DType::F32);
  cc_.emit(I::kIdVmulps, square, r, r);
  const auto from = [&](size_t at, bool pair) {
    const Vec p = of(DType::F32);
    move(p, number(c[at]));
    if (pair) cc_.emit(I::kIdVfmadd231ps, p, r, number(c[at + 1]));
    return p;
  };
  const bool by_pairs = c.size() >= ex::kLeastPairs;
  size_t at = by_pairs ? (c.size() - 1) / 2 * 2 : c.size() - 1;
  const Vec p = from(at, by_pairs && at + 1 < c.size());
  while (at > 0) {
    if (by_pairs) cc_.emit(I::kIdVfmadd213ps, p, square, from(at -= 2, true));
    else cc_.emit(I::kIdVfmadd213ps, p, r, number(c[at -= 1]));
  }
  cc_.emit(I::kIdVfmadd213ps, p, square, r);
  return p;
}

// exp as its expansion has it, but for the last step: VSCALEF multiplies by 2^n and rounds once,
// over- and underflow, infinities and NaN included. Where n is far out, what it multiplies only has
// to be positive and finite: VRANGE makes at most 1 of the remainder, also where that is NaN.
BaseReg X86::exponential(const Operand& v) {
  constexpr int kLeastMagnitude = 2;
  const auto [n, r] = reduce_exp(any(DType::F32, v));
  cc_.emit(I::kIdVrangeps, r, r, number(1), kLeastMagnitude);
  const Vec p = near_identity(r, Exp::tail);
  cc_.emit(I::kIdVaddps, p, p, number(1));
  cc_.emit(I::kIdVscalefps, p, p, n);
  return p;
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
  const auto [n, r] = reduce_exp(x);
  const Vec m = near_identity(r, Exp::decay_tail);
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
