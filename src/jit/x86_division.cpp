// Of integers by powers of two. And quotients of many numbers by one, without the instruction that
// divides: on 16 lanes it takes as long as thirty multiplications.
//
// With y = 1 / b rounded to nearest, q = a y, r = a - q b and q + r y is a / b rounded to nearest,
// r and the sum being fused: P. Markstein's theorem, as N. Brisebarre, J.-M. Muller and S. K. Raina
// use it in "Accelerating correctly rounded floating-point division when the divisor is known in
// advance" (IEEE Transactions on Computers 53, 2004). It takes for granted that nothing overflows
// or loses bits below the least normal number, so a and b have to lie in the ranges here. 0
// comes out right as well, though -0 does not. If anything else is among the lanes, all are
// divided.
//
// Of divisors that differ, some are taken so, beside the instruction for the others: from what the
// processor knows of 1 / b to 14 bits, y + y (1 - b y) twice is 1 / b rounded to nearest, but where
// all bits of b's mantissa are set. For all others that has been seen, with first values of 130
// relative errors up to 2^-14.
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "jit/x86.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

namespace {

// Twice the bits of 2^n, in which the sign is lost.
constexpr uint32_t twice_bits(int n) { return static_cast<uint32_t>(127 + n) << 24; }

// A quotient is at least 2^-125 and below 2^125; a remainder is a multiple of 2^-148.
constexpr int kLeast = -100, kMost = 100, kLeastDivisor = -24, kMostDivisor = 24;
constexpr int kBelow = 1, kNotBelow = 5;  // predicates of comparisons

constexpr uint32_t kDividends = twice_bits(kMost) - twice_bits(kLeast);  // so many
constexpr uint32_t kMantissa = 0xfffffe;                                 // of twice the bits

}  // namespace

// By a power of two, truncated. The instruction for others wants registers of its own, and vectors
// take no longer.
bool X86::divide_scalars(Op op, DType type, const Gp& to, const Gp& a, const Operand& b) {
  const int64_t n = b.isImm() ? b.as<asmjit::Imm>().value() : 0;
  if (n <= 0 || !std::has_single_bit(static_cast<uint64_t>(n))) return false;
  const bool wide = size_of(type) == 8, is_signed = is_signed_integer(type);
  const int shift = std::countr_zero(static_cast<uint64_t>(n));
  const Gp whole = wide ? cc_.newGpq() : cc_.newGpq().r32();
  cc_.mov(whole, a);
  if (is_signed && shift > 0) {  // a negative one as the multiple of n that is not below it
    const int bits = wide ? 64 : 32;
    cc_.sar(whole, bits - 1);
    cc_.shr(whole, bits - shift);
    cc_.add(whole, a);
  }
  if (op == Op::Div) {
    if (is_signed) cc_.sar(whole, shift);
    else cc_.shr(whole, shift);
    cc_.mov(to, whole);
    return true;
  }
  const Gp rest = wide ? cc_.newGpq() : cc_.newGpq().r32();
  cc_.and_(whole, asmjit::imm(-n));
  cc_.mov(rest, a);
  cc_.sub(rest, whole);
  cc_.mov(to, rest);
  return true;
}

// Integers of 32 bits by floats of 64. A quotient that is no whole number is 2^-32 or more of
// itself away from the next one, and rounding moves it by 2^-53 of itself at most: truncated, it is
// right. What fits no integer of 32 bits is the least divided by -1, of which the conversion makes
// the least, and what is divided by 0.
std::optional<BaseReg> X86::divide_integers(Op op, DType type, std::span<const Operand> in) {
  const bool is_signed = is_signed_integer(type);
  if (is_wide(type) || (!is_signed && !avx512_)) return {};
  const Id widen = is_signed ? I::kIdVcvtdq2pd : I::kIdVcvtudq2pd,
           narrow = is_signed ? I::kIdVcvttpd2dq : I::kIdVcvttpd2udq;
  const uint32_t doubles = avx512_ ? 64 : 32, integers = doubles / 2;
  const bool halves = bytes(type) > integers;
  const Vec a = any(type, in[0]), b = any(type, in[1]);
  const auto part_of = [&](const Vec& v, bool upper) {
    if (!upper) return part(v, integers);
    const Vec to = sized(integers);
    cc_.emit(avx512_ ? I::kIdVextracti64x4 : I::kIdVextracti128, to, v, 1);
    return to;
  };
  const auto quotient_of = [&](bool upper) {
    const Vec x = sized(doubles), y = sized(doubles), q = sized(integers);
    cc_.emit(widen, x, part_of(a, upper));
    cc_.emit(widen, y, part_of(b, upper));
    cc_.vdivpd(x, x, y);
    cc_.emit(narrow, q, x);
    return q;
  };
  Vec quotient = quotient_of(false);
  if (halves) {
    const Vec upper = quotient_of(true), both = of(type);
    cc_.emit(avx512_ ? I::kIdVinserti64x4 : I::kIdVinserti128, both, part(quotient, bytes(type)),
             upper, 1);
    quotient = both;
  }
  const Operand zero = constant(type, 0), with_zero[] = {b, zero};
  const BaseReg divides = *compare_integers(Op::Ne, type, with_zero);
  if (op == Op::Div) return blend(type, divides, quotient, zero);
  const Vec rest = of(type);
  cc_.vpmulld(rest, quotient, b);
  cc_.vpsubd(rest, a, rest);
  return blend(type, divides, rest, zero);
}

std::optional<Target::Divisor> X86::divisor(DType type, const Operand& b) {
  if (!avx512_ || type != DType::F32) return {};
  const Vec value = any(type, b), reciprocal = of(type), bits = of(type), limit = of(type);
  cc_.vdivps(reciprocal, any(type, constant(type, std::bit_cast<uint32_t>(1.0f))), value);
  cc_.vpaddd(bits, value, value);
  cc_.vpsubd(bits, bits, any(type, constant(DType::U32, twice_bits(kLeastDivisor))));
  const BaseReg inside = vector(DType::Bool);
  cc_.emit(I::kIdVpcmpud, inside, bits,
           constant(DType::U32, twice_bits(kMostDivisor) - twice_bits(kLeastDivisor)), kBelow);
  // 0, below which no lane is, if the divisor is outside.
  const Vec most = any(type, constant(DType::U32, kDividends));
  cc_.k(inside.as<KReg>()).z().vmovdqa32(limit, most);
  return Divisor{value, reciprocal, limit};
}

// How far each dividend lies above the least one, or 0 where it is 0.
X86::Vec X86::far_dividend(Vec x) {
  const Vec bits = of(DType::U32), far = of(DType::U32);
  const Operand least = constant(DType::U32, twice_bits(kLeast));
  const BaseReg not_zero = vector(DType::Bool);
  cc_.vpaddd(bits, x, x);
  cc_.emit(I::kIdVptestmd, not_zero, x, x);
  cc_.k(not_zero.as<KReg>()).z().emit(I::kIdVpsubd, far, bits, least);
  return far;
}

// What is known of all in the first.
void X86::add_farther(Vec& farthest, Vec far, bool first) {
  if (first) farthest = far;
  else cc_.vpmaxud(farthest, farthest, far);
}

void X86::quotient(Vec to, Vec a, Vec b, Vec reciprocal) {
  const Vec first = of(DType::F32);
  cc_.vmulps(first, a, reciprocal);
  move(to, first);
  cc_.vfnmadd213ps(to, b, a);
  cc_.vfmadd213ps(to, reciprocal, first);
}

void X86::divide(const Divisor& by, std::span<const Operand> a, std::span<Operand> quotients) {
  const DType type = DType::F32;
  const Label steps = cc_.newLabel(), done = cc_.newLabel();
  Vec farthest;
  std::array<Vec, kMaxUnroll> dividends;
  for (size_t k = 0; k < a.size(); k++) {
    quotients[k] = of(type);
    dividends[k] = any(type, a[k]);
    add_farther(farthest, far_dividend(dividends[k]), k == 0);
  }
  const BaseReg outside = vector(DType::Bool);
  cc_.emit(I::kIdVpcmpud, outside, farthest, by.limit, kNotBelow);
  jump_if_none({&outside, 1}, steps);
  const Vec value = by.value.as<Vec>(), reciprocal = by.reciprocal.as<Vec>();
  for (size_t k = 0; k < a.size(); k++) cc_.vdivps(quotients[k].as<Vec>(), dividends[k], value);
  cc_.jmp(done);
  cc_.bind(steps);
  for (size_t k = 0; k < a.size(); k++)
    quotient(quotients[k].as<Vec>(), dividends[k], value, reciprocal);
  cc_.bind(done);
}

void X86::quotients(uint32_t by_steps, std::span<const Operand> a, std::span<const Operand> b,
                    std::span<Operand> quotients) {
  const DType type = DType::F32;
  // 2 less than the least: what has all bits of its mantissa set has none then.
  constexpr uint32_t kFrom = twice_bits(kLeastDivisor) - 2, kTo = twice_bits(kMostDivisor);
  const Label steps = cc_.newLabel(), done = cc_.newLabel();
  std::array<Vec, kMaxUnroll> dividends, divisors;
  for (size_t k = 0; k < a.size(); k++) {
    quotients[k] = of(type);
    dividends[k] = any(type, a[k]);
    if (k < by_steps) divisors[k] = any(type, b[k]);
    else cc_.emit(I::kIdVdivps, quotients[k], dividends[k], b[k]);
  }
  const Operand mantissa = constant(DType::U32, kMantissa), from = constant(DType::U32, kFrom),
                one = number(1);
  Vec farthest, farthest_divisor;
  std::vector<BaseReg> outside;
  for (size_t k = 0; k < by_steps; k++) {
    add_farther(farthest, far_dividend(dividends[k]), k == 0);
    const Vec far = of(DType::U32);
    cc_.vpaddd(far, divisors[k], divisors[k]);
    cc_.emit(I::kIdVpsubd, far, far, from);
    outside.push_back(vector(DType::Bool));
    cc_.emit(I::kIdVptestnmd, outside.back(), far, mantissa);
    add_farther(farthest_divisor, far, k == 0);
  }
  for (const auto& [far, count] :
       {std::pair(farthest, kDividends), {farthest_divisor, kTo - kFrom}}) {
    outside.push_back(vector(DType::Bool));
    cc_.emit(I::kIdVpcmpud, outside.back(), far, constant(DType::U32, count), kNotBelow);
  }
  jump_if_none(outside, steps);
  for (size_t k = 0; k < by_steps; k++)
    cc_.emit(I::kIdVdivps, quotients[k], dividends[k], divisors[k]);
  cc_.jmp(done);
  cc_.bind(steps);
  for (size_t k = 0; k < by_steps; k++) {
    const Vec y = of(type), e = of(type);
    cc_.emit(I::kIdVrcp14ps, y, divisors[k]);
    for (int step = 0; step < 2; step++) {
      move(e, one);
      cc_.emit(I::kIdVfnmadd231ps, e, divisors[k], y);
      cc_.emit(I::kIdVfmadd213ps, y, e, y);
    }
    quotient(quotients[k].as<Vec>(), dividends[k], divisors[k], y);
  }
  cc_.bind(done);
}

}  // namespace hologram::jit
