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
#include <array>
#include <bit>

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
  const Vec most = any(type, constant(DType::U32, twice_bits(kMost) - twice_bits(kLeast)));
  cc_.k(inside.as<KReg>()).z().vmovdqa32(limit, most);
  return Divisor{value, reciprocal, limit};
}

void X86::divide(const Divisor& by, std::span<const Operand> a, std::span<Operand> quotients) {
  const DType type = DType::F32;
  const bool w = width == 16;
  const Label slow = cc_.newLabel(), done = cc_.newLabel();
  const Operand least = constant(DType::U32, twice_bits(kLeast));
  Vec farthest;
  std::array<Vec, kMaxUnroll> dividends;
  for (size_t k = 0; k < a.size(); k++) {
    const Vec x = dividends[k] = any(type, a[k]);
    const Vec bits = of(type), far = of(type);
    const BaseReg not_zero = vector(DType::Bool);
    cc_.vpaddd(bits, x, x);
    cc_.emit(I::kIdVptestmd, not_zero, x, x);
    cc_.k(not_zero.as<KReg>()).z().emit(I::kIdVpsubd, far, bits, least);
    if (k == 0) farthest = far;
    else cc_.vpmaxud(farthest, farthest, far);
  }
  const BaseReg outside = vector(DType::Bool);
  cc_.emit(I::kIdVpcmpud, outside, farthest, by.limit, kNotBelow);
  cc_.emit(w ? I::kIdKortestw : I::kIdKortestb, outside, outside);
  cc_.jnz(slow);
  const Vec value = by.value.as<Vec>(), reciprocal = by.reciprocal.as<Vec>();
  for (size_t k = 0; k < a.size(); k++) {
    const Vec first = of(type), rest = of(type);
    cc_.vmulps(first, dividends[k], reciprocal);
    move(rest, first);
    cc_.vfnmadd213ps(rest, value, dividends[k]);
    cc_.vfmadd213ps(rest, reciprocal, first);
    quotients[k] = rest;
  }
  cc_.jmp(done);
  cc_.bind(slow);
  for (size_t k = 0; k < a.size(); k++) cc_.vdivps(quotients[k].as<Vec>(), dividends[k], value);
  cc_.bind(done);
}

}  // namespace hologram::jit
