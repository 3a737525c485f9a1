// Square roots and quotients without the instructions, which keep a processor's divider busy for
// ten cycles a vector of 16 lanes and more while its multipliers wait: P. Markstein, "Computation
// of elementary functions on the IBM RISC System/6000 processor" (IBM Journal of Research and
// Development 34, 1990). Both begin with what the processor knows to 14 bits, and take for granted
// that nothing overflows and no remainder loses bits. If anything else is among the lanes, the
// instruction does all.
//
// Roots: from g near sqrt(x) and h near 1 / (2 sqrt(x)), r = 1/2 - g h, g + g r, h + h r, and then
// with x - g^2 what is sqrt(x) rounded to nearest. For all mantissas that has been seen, with first
// values of 130 relative errors up to 2^-14.
//
// Quotients: twice y + y (1 - b y), which is 1 / b rounded to nearest but where all bits of b's
// mantissa are set (seen in the same way); with such a y, q = a y, r = a - q b and q + r y is a / b
// rounded to nearest (x86_division.cpp).
#include <algorithm>
#include <array>
#include <vector>

#include "core/processor.hpp"
#include "jit/x86.hpp"

namespace hologram::jit {

namespace I = asmjit::x86::Inst;

namespace {

constexpr DType kType = DType::F32;
constexpr int kNotBelow = 5;  // a predicate

// Bits of 2^n, and twice as many, in which the sign is lost.
constexpr uint32_t bits_of(int n) { return static_cast<uint32_t>(127 + n) << 23; }
constexpr uint32_t twice(int n) { return 2 * bits_of(n); }

constexpr uint32_t kLeastRoot = bits_of(-100), kInfinity = bits_of(128);
constexpr uint32_t kLeast = twice(-100), kMost = twice(100);
// 2 more than that: what has all bits of its mantissa set has none then.
constexpr uint32_t kLeastDivisor = twice(-24) - 2, kMostDivisor = twice(24);
constexpr uint32_t kMantissa = 0xfffffe;  // of twice the bits

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
    if (k == 0) farthest = far;
    else cc_.vpmaxud(farthest, farthest, far);
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

void X86::quotients(uint32_t by_steps, std::span<const Operand> a, std::span<const Operand> b,
                    std::span<Operand> quotients) {
  const Label steps = cc_.newLabel(), done = cc_.newLabel();
  std::array<Vec, kMaxUnroll> dividends, divisors;
  for (size_t k = 0; k < a.size(); k++) {
    quotients[k] = of(kType);
    dividends[k] = any(kType, a[k]);
    if (k < by_steps) divisors[k] = any(kType, b[k]);
    else cc_.emit(I::kIdVdivps, quotients[k], dividends[k], b[k]);
  }
  const Operand least = constant(DType::U32, kLeast), mantissa = constant(DType::U32, kMantissa),
                least_divisor = constant(DType::U32, kLeastDivisor), one = number(1);
  Vec farthest, farthest_divisor;
  std::vector<BaseReg> outside;
  for (size_t k = 0; k < by_steps; k++) {
    const Vec bits = of(kType), far = of(kType), far_divisor = of(kType);
    const BaseReg not_zero = vector(DType::Bool), all_set = vector(DType::Bool);
    cc_.vpaddd(bits, dividends[k], dividends[k]);
    cc_.emit(I::kIdVptestmd, not_zero, dividends[k], dividends[k]);
    cc_.k(not_zero.as<KReg>()).z().emit(I::kIdVpsubd, far, bits, least);
    cc_.vpaddd(far_divisor, divisors[k], divisors[k]);
    cc_.emit(I::kIdVpsubd, far_divisor, far_divisor, least_divisor);
    cc_.emit(I::kIdVptestnmd, all_set, far_divisor, mantissa);
    outside.push_back(all_set);
    if (k == 0) {
      farthest = far;
      farthest_divisor = far_divisor;
    } else {
      cc_.vpmaxud(farthest, farthest, far);
      cc_.vpmaxud(farthest_divisor, farthest_divisor, far_divisor);
    }
  }
  const auto add_beyond = [&](Vec v, uint32_t most) {
    outside.push_back(vector(DType::Bool));
    cc_.emit(I::kIdVpcmpud, outside.back(), v, constant(DType::U32, most), kNotBelow);
  };
  add_beyond(farthest, kMost - kLeast);
  add_beyond(farthest_divisor, kMostDivisor - kLeastDivisor);
  jump_if_none(outside, steps);
  for (size_t k = 0; k < by_steps; k++)
    cc_.emit(I::kIdVdivps, quotients[k], dividends[k], divisors[k]);
  cc_.jmp(done);
  cc_.bind(steps);
  for (size_t k = 0; k < by_steps; k++) {
    const Vec y = of(kType), e = of(kType), q = quotients[k].as<Vec>();
    cc_.emit(I::kIdVrcp14ps, y, divisors[k]);
    for (int step = 0; step < 2; step++) {
      move(e, one);
      cc_.emit(I::kIdVfnmadd231ps, e, divisors[k], y);
      cc_.emit(I::kIdVfmadd213ps, y, e, y);
    }
    cc_.emit(I::kIdVmulps, e, dividends[k], y);
    move(q, dividends[k]);
    cc_.emit(I::kIdVfnmadd231ps, q, e, divisors[k]);
    cc_.emit(I::kIdVfmadd213ps, q, y, e);
  }
  cc_.bind(done);
}

}  // namespace hologram::jit
