// Square roots without the instruction, and how many of them and of quotients (x86_division.cpp)
// are to be made without it: it keeps a processor's divider busy for ten cycles a vector of 16
// lanes and more, while its multipliers wait.
//
// From what the processor knows to 14 bits, g near sqrt(x) and h near 1 / (2 sqrt(x)): r = 1/2 - g
// h, g + g r, h + h r, and then with x - g^2 what is sqrt(x) rounded to nearest: P. Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor" (IBM Journal of
// Research and Development 34, 1990). For all mantissas that has been seen, with first values of
// 130 relative errors up to 2^-14. It takes for granted that nothing overflows and x - g^2 loses no
// bits; if anything else is among the lanes, the instruction does all.
#include <algorithm>
#include <array>

#include "core/processor.hpp"
#include "jit/x86.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;

namespace {

constexpr DType kType = DType::F32;
constexpr int kNotBelow = 5;  // a predicate

constexpr uint32_t bits_of(int n) { return static_cast<uint32_t>(127 + n) << 23; }  // 2^n
constexpr uint32_t kLeastRoot = bits_of(-100), kInfinity = bits_of(128);

}  // namespace

// What takes the least time, by what Intel's processors need: their divider for one operation after
// another, and two ports for all, also for some part of what it does; and what is read and written
// has to come from the second cache. Of AMD's there are no measurements.
Target::Steps X86::by_steps(uint32_t vectors, const Work& of_each) const {
  constexpr uint32_t kRoot = 12, kQuotient = 10;    // cycles of the divider
  constexpr uint32_t kOfRoot = 6, kOfQuotient = 5;  // operations
  constexpr uint32_t kAccess = 2;                   // cycles
  constexpr uint32_t kRootSteps = 16, kQuotientSteps = 20;
  if (!avx512_ || width != 16 || core::is_amd()) return {};
  const auto cycles = [&](uint32_t roots, uint32_t quotients) {
    const auto sum = [&](uint32_t root, uint32_t quotient, uint32_t root_steps,
                         uint32_t quotient_steps) {
      return of_each.roots * ((vectors - roots) * root + roots * root_steps) +
             of_each.quotients * ((vectors - quotients) * quotient + quotients * quotient_steps);
    };
    const uint32_t operations = sum(kOfRoot, kOfQuotient, kRootSteps, kQuotientSteps);
    return std::max({sum(kRoot, kQuotient, 0, 0), (operations + vectors * of_each.others) / 2,
                     vectors * of_each.accesses * kAccess});
  };
  Steps best;
  uint32_t least = cycles(0, 0);
  for (uint32_t roots = 0; roots <= (of_each.roots > 0 ? vectors : 0); roots++)
    for (uint32_t quotients = 0; quotients <= (of_each.quotients > 0 ? vectors : 0); quotients++)
      if (const uint32_t now = cycles(roots, quotients); now < least) {
        least = now;
        best = {roots, quotients};
      }
  return best;
}

void X86::roots(uint32_t by_steps, std::span<const Operand> x, std::span<Operand> roots) {
  const Label steps = cc_.newLabel(), done = cc_.newLabel();
  const auto by_instruction = [&](size_t k) { cc_.emit(I::kIdVsqrtps, roots[k], x[k]); };
  for (size_t k = 0; k < x.size(); k++) {
    roots[k] = of(kType);
    if (k >= by_steps) by_instruction(k);
  }
  const Operand least = constant(DType::U32, kLeastRoot), half = number(1 / 2.0);
  Vec farthest;
  std::array<Vec, kMaxUnroll> values;
  std::array<BaseReg, kMaxUnroll> not_zero;
  for (size_t k = 0; k < by_steps; k++) {
    const Vec v = values[k] = any(kType, x[k]), far = of(kType);
    not_zero[k] = vector(DType::Bool);
    cc_.emit(I::kIdVptestmd, not_zero[k], v, v);
    cc_.k(not_zero[k].as<KReg>()).z().emit(I::kIdVpsubd, far, v, least);
    add_farther(farthest, far, k == 0);
  }
  const BaseReg outside = vector(DType::Bool);
  cc_.emit(I::kIdVpcmpud, outside, farthest, constant(DType::U32, kInfinity - kLeastRoot),
           kNotBelow);
  jump_if_none({&outside, 1}, steps);
  for (size_t k = 0; k < by_steps; k++) by_instruction(k);
  cc_.jmp(done);
  cc_.bind(steps);
  for (size_t k = 0; k < by_steps; k++) {
    const Vec v = values[k], g = of(kType), h = of(kType), r = of(kType), root = roots[k].as<Vec>();
    cc_.emit(I::kIdVrsqrt14ps, h, v);
    cc_.emit(I::kIdVmulps, g, h, v);
    cc_.emit(I::kIdVmulps, h, h, half);
    move(r, half);
    cc_.emit(I::kIdVfnmadd231ps, r, g, h);
    cc_.emit(I::kIdVfmadd213ps, g, r, g);
    cc_.emit(I::kIdVfmadd213ps, h, r, h);
    move(root, v);
    cc_.emit(I::kIdVfnmadd231ps, root, g, g);
    cc_.k(not_zero[k].as<KReg>()).z().emit(I::kIdVfmadd213ps, root, h, g);
  }
  cc_.bind(done);
}

}  // namespace hologram::jit
