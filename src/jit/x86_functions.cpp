// Functions by instructions that do more than the language has.
#include <bit>

#include "jit/x86.hpp"
#include "program/expansions/exp.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;
namespace ex = program::expansions::portable;

// exp as its expansion has it, but for the last step: VSCALEF multiplies by 2^n and rounds once,
// over- and underflow, infinities and NaN included. Where n is far out, what it multiplies only has
// to be positive and finite: VRANGE makes at most 1 of the remainder, also where that is NaN.
BaseReg X86::exponential(const Operand& v) {
  using T = ex::ExpConstants<32>;
  const DType type = DType::F32;
  const auto number = [&](double value) {
    return constant(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
  };
  constexpr int kNearest = 8, kLeastMagnitude = 2;
  const Vec x = any(type, v), n = of(type), r = of(type), p = of(type), square = of(type);
  cc_.emit(I::kIdVmulps, n, x, number(ex::kLog2E));
  cc_.emit(I::kIdVrndscaleps, n, n, kNearest);
  move(r, n);
  cc_.emit(I::kIdVfmadd132ps, r, x, number(-T::ln2_hi));
  cc_.emit(I::kIdVfmadd231ps, r, n, number(-T::ln2_lo));
  cc_.emit(I::kIdVrangeps, r, r, number(1), kLeastMagnitude);
  constexpr size_t kTerms = std::size(T::tail);
  move(p, number(T::tail[kTerms - 1]));
  for (size_t k = kTerms - 1; k-- > 0;) cc_.emit(I::kIdVfmadd213ps, p, r, number(T::tail[k]));
  cc_.emit(I::kIdVmulps, square, r, r);
  cc_.emit(I::kIdVfmadd213ps, p, square, r);
  cc_.emit(I::kIdVaddps, p, p, number(1));
  cc_.emit(I::kIdVscalefps, p, p, n);
  return p;
}

}  // namespace hologram::jit
