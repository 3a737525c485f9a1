// Arithmetic, bits and logic on vectors.
#include <array>

#include "jit/x86.hpp"

namespace hologram::jit {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;

namespace {

using Id = asmjit::InstId;

uint64_t sign_bit(DType t) { return is_wide(t) ? uint64_t{1} << 63 : uint64_t{1} << 31; }

// By type: f32, f64.
struct FloatIds {
  Op op;
  Id ids[2];
};
constexpr FloatIds kFloats[] = {
    {Op::Add, {I::kIdVaddps, I::kIdVaddpd}},
    {Op::Sub, {I::kIdVsubps, I::kIdVsubpd}},
    {Op::Mul, {I::kIdVmulps, I::kIdVmulpd}},
    {Op::Div, {I::kIdVdivps, I::kIdVdivpd}},
};

struct Rounding {
  Op op;
  int mode;
};
constexpr Rounding kRoundings[] = {
    {Op::Round, 0x8}, {Op::Floor, 0x9}, {Op::Ceil, 0xa}, {Op::Trunc, 0xb}};

// Of integers: lanes of 32 bits, of 64 bits, and of 64 bits with AVX-512; 0: there is none.
struct IntegerIds {
  Op op;
  bool for_signed, for_unsigned;
  Id ids[3];
};
constexpr IntegerIds kIntegers[] = {
    {Op::Add, true, true, {I::kIdVpaddd, I::kIdVpaddq, I::kIdVpaddq}},
    {Op::Sub, true, true, {I::kIdVpsubd, I::kIdVpsubq, I::kIdVpsubq}},
    {Op::Mul, true, true, {I::kIdVpmulld, 0, I::kIdVpmullq}},
    {Op::Min, true, false, {I::kIdVpminsd, 0, I::kIdVpminsq}},
    {Op::Min, false, true, {I::kIdVpminud, 0, I::kIdVpminuq}},
    {Op::Max, true, false, {I::kIdVpmaxsd, 0, I::kIdVpmaxsq}},
    {Op::Max, false, true, {I::kIdVpmaxud, 0, I::kIdVpmaxuq}},
};

}  // namespace

// The operand's own register if it dies, else a new one.
X86::Vec X86::result_in(DType type, const Operand& v, bool dies) {
  return dies && v.isReg() ? v.as<Vec>() : of(type);
}

// to = a op b for And, Or, Xor, on bits. Not: a without the bits of b.
void X86::bitwise(Op op, Vec to, const Operand& a, const Operand& b) {
  Id id = 0;
  switch (op) {
    case Op::And: id = avx512_ ? I::kIdVpandd : I::kIdVpand; break;
    case Op::Or: id = avx512_ ? I::kIdVpord : I::kIdVpor; break;
    case Op::Xor: id = avx512_ ? I::kIdVpxord : I::kIdVpxor; break;
    default: id = avx512_ ? I::kIdVpandnd : I::kIdVpandn; break;
  }
  const bool eight = (b.isMem() && b.as<Mem>().hasBroadcast() && b.as<Mem>().size() == 8);
  if (eight) {  // elements of 64 bits
    switch (op) {
      case Op::And: id = I::kIdVpandq; break;
      case Op::Or: id = I::kIdVporq; break;
      case Op::Xor: id = I::kIdVpxorq; break;
      default: id = I::kIdVpandnq; break;
    }
  }
  cc_.emit(id, to, a, b);
}

std::optional<BaseReg> X86::pure(Op op, DType type, DType from, std::span<const Operand> in,
                                 uint32_t dying) {
  if (op == Op::Select) return blend(type, in[0].as<BaseReg>(), in[1], in[2]);
  if (op >= Op::Eq && op <= Op::IsFinite) return compare(op, from, in);
  if (op == Op::Cast) return cast(type, from, in[0], (dying & 1) != 0);
  if (op == Op::Bitcast) return same_bits(type, in[0], (dying & 1) != 0);
  if (op == Op::Dot4) return dot4(from == DType::I32, in);
  if (type == DType::Bool) return logic(op, in);
  if (is_float(type)) return floating(op, type, in, dying);
  return integer(op, type, in, dying);
}

// The instruction takes the bytes of a as unsigned: signed ones are 128 more there, and 128 times
// the sum of b less. Without it, products of pairs of i16.
BaseReg X86::dot4(bool is_signed, std::span<const Operand> in) {
  const DType type = DType::I32;
  const Vec a = any(type, in[0]), b = any(type, in[1]), sum = of(type);
  if (vnni_) {
    move(sum, in[2]);
    if (!is_signed) {
      cc_.vpdpbusd(sum, a, b);
      return sum;
    }
    const Vec flipped = of(type), others = of(type);
    bitwise(Op::Xor, flipped, a, constant(type, 0x80808080));
    cc_.vpdpbusd(sum, flipped, b);
    bitwise(Op::Xor, others, others, others);
    cc_.vpdpbusd(others, any(type, constant(type, 0x01010101)), b);
    cc_.vpslld(others, others, 7);
    cc_.vpsubd(sum, sum, others);
    return sum;
  }
  const auto halves = [&](const Vec& bytes, bool with_signs, bool upper) {
    const Vec to = of(type);
    Vec from = bytes;
    if (!upper) {
      cc_.vpsllw(to, bytes, 8);
      from = to;
    }
    if (with_signs) cc_.vpsraw(to, from, 8);
    else cc_.vpsrlw(to, from, 8);
    return to;
  };
  const Vec even = halves(a, is_signed, false), odd = halves(a, is_signed, true);
  cc_.vpmaddwd(even, even, halves(b, true, false));
  cc_.vpmaddwd(odd, odd, halves(b, true, true));
  cc_.vpaddd(even, even, odd);
  cc_.vpaddd(sum, even, any(type, in[2]));
  return sum;
}

// A register of its own: what a value's register holds may change when the value is dead.
BaseReg X86::same_bits(DType type, const Operand& v, bool dies) {
  if (dies && v.isReg()) return v.as<BaseReg>();
  const BaseReg to = vector(type);
  copy_vector(type, to, v);
  return to;
}

std::optional<BaseReg> X86::floating(Op op, DType type, std::span<const Operand> in,
                                     uint32_t dying) {
  const size_t which = type == DType::F64;
  for (const FloatIds& row : kFloats) {
    if (row.op != op) continue;
    Operand a = in[0], b = in[1];
    const bool commutes = program::info(op).commutative;
    if (a.isMem() && commutes) std::swap(a, b);
    const Vec left = any(type, a);
    if (a != in[0]) dying = dying >> 1 & 1;
    const bool second = (dying & 2) != 0 && b.isReg();
    const Vec to = second ? b.as<Vec>() : result_in(type, a, (dying & 1) != 0);
    cc_.emit(row.ids[which], to, left, b);
    return to;
  }
  for (const Rounding& row : kRoundings) {
    if (row.op != op) continue;
    const Vec to = of(type);
    if (avx512_) cc_.emit(which ? I::kIdVrndscalepd : I::kIdVrndscaleps, to, in[0], row.mode);
    else cc_.emit(which ? I::kIdVroundpd : I::kIdVroundps, to, in[0], row.mode);
    return to;
  }
  switch (op) {
    case Op::Min:
    case Op::Max: return least_or_most(op == Op::Max, type, in);
    case Op::Fma:
    case Op::Mad: return fused(type, in, dying);
    case Op::Exp:
      if (!avx512_) return {};
      return exponential(type, in[0]);
    case Op::Sigmoid:
      if (!avx512_ || which) return {};
      return sigmoid(in[0]);
    case Op::Sqrt: {
      const Vec to = of(type);
      cc_.emit(which ? I::kIdVsqrtpd : I::kIdVsqrtps, to, in[0]);
      return to;
    }
    case Op::Neg: {
      const Vec to = result_in(type, in[0], (dying & 1) != 0);
      bitwise(Op::Xor, to, any(type, in[0]), constant(type, sign_bit(type)));
      return to;
    }
    case Op::Abs: {
      const Vec to = result_in(type, in[0], (dying & 1) != 0);
      bitwise(Op::And, to, any(type, in[0]), constant(type, sign_bit(type) - 1));
      return to;
    }
    case Op::CopySign: {
      const Vec magnitude = of(type), sign = of(type);
      bitwise(Op::And, magnitude, any(type, in[0]), constant(type, sign_bit(type) - 1));
      bitwise(Op::And, sign, any(type, in[1]), constant(type, sign_bit(type)));
      bitwise(Op::Or, sign, sign, magnitude);
      return sign;
    }
    case Op::Sign: {  // 1 with the sign of x where that is not 0, and else, or of no number, x
      const Vec x = any(type, in[0]), one = of(type);
      bitwise(Op::And, one, x, constant(type, sign_bit(type)));
      bitwise(Op::Or, one, one, constant(type, which ? 0x3ff0000000000000u : 0x3f800000u));
      const Operand with_zero[] = {x, constant(type, 0)};
      const BaseReg below = *compare(Op::Lt, type, with_zero);
      const Vec above = blend(type, below, one, x).as<Vec>();
      const BaseReg positive = *compare(Op::Gt, type, with_zero);
      return blend(type, positive, one, above);
    }
    case Op::RoundF16: {
      const Vec to = of(type), half = sized(std::max(16u, bytes(type) / 2));
      cc_.vcvtps2ph(half, any(type, in[0]), 0);
      cc_.vcvtph2ps(to, half);
      return to;
    }
    case Op::RoundBF16: {
      const Vec to = bf16_bits(in[0]);
      cc_.vpslld(to, to, 16);
      return to;
    }
    default: return {};
  }
}

BaseReg X86::combine_three(Op op, DType type, const Operand& a, const Operand& b,
                           const Operand& c) {
  constexpr int kFirst = 0xf0, kSecond = 0xcc, kThird = 0xaa;
  const int both = kSecond & kThird;
  const Vec y = any(type, b), to = of(type);
  move(to, a);
  cc_.emit(is_wide(type) ? I::kIdVpternlogq : I::kIdVpternlogd, to, y, c,
           op == Op::Xor ? kFirst ^ both : kFirst | both);
  return to;
}

// a b + c in the form that overwrites a register nobody needs, if there is one; one operand may
// stand in memory.
BaseReg X86::fused(DType type, std::span<const Operand> in, uint32_t dying) {
  const size_t eight = type == DType::F64;
  constexpr std::array<Id, 2> k132 = {I::kIdVfmadd132ps, I::kIdVfmadd132pd},
                              k213 = {I::kIdVfmadd213ps, I::kIdVfmadd213pd},
                              k231 = {I::kIdVfmadd231ps, I::kIdVfmadd231pd};
  Operand a = in[0], b = in[1];
  const Operand& c = in[2];
  bool a_dies = a.isReg() && (dying & 1), b_dies = b.isReg() && (dying & 2);
  if (a.isMem() || (b_dies && !a_dies)) {
    std::swap(a, b);
    std::swap(a_dies, b_dies);
  }
  if (a.isMem()) a = any(type, a);  // both are
  if (c.isReg() && (dying & 4) && !(a_dies && b.isReg())) {
    const Vec& to = c.as<Vec>();
    cc_.emit(k231[eight], to, a, b);  // to += a b
    return to;
  }
  Vec to = a.as<Vec>();
  if (!a_dies) {
    to = of(type);
    if (b.isMem() && c.isMem()) {
      move(to, c);
      cc_.emit(k231[eight], to, a, b);
      return to;
    }
    move(to, a);
  }
  if (b.isMem()) cc_.emit(k132[eight], to, any(type, c), b);  // to = to b + c
  else cc_.emit(k213[eight], to, b, c);                       // to = b to + c
  return to;
}

std::optional<BaseReg> X86::integer(Op op, DType type, std::span<const Operand> in,
                                    uint32_t dying) {
  const size_t which = !is_wide(type) ? 0 : avx512_ ? 2 : 1;
  for (const IntegerIds& row : kIntegers) {
    if (row.op != op || !(is_signed_integer(type) ? row.for_signed : row.for_unsigned)) continue;
    if (row.ids[which] == 0)
      return op == Op::Mul ? product_of_wide(type, in[0], in[1])
                           : extreme_of_wide(op == Op::Max, type, in[0], in[1]);
    Operand a = in[0], b = in[1];
    if (a.isMem() && program::info(op).commutative) std::swap(a, b);
    const Vec left = any(type, a);
    const Vec to = result_in(type, a, (a == in[0] ? dying & 1 : dying & 2) != 0);
    cc_.emit(row.ids[which], to, left, b);
    return to;
  }
  switch (op) {
    case Op::And:
    case Op::Or:
    case Op::Xor: {
      Operand a = in[0], b = in[1];
      if (a.isMem()) std::swap(a, b);
      const Vec left = any(type, a);
      const Vec to = of(type);
      bitwise(op, to, left, b);
      return to;
    }
    case Op::Not: {
      const Vec to = of(type);
      bitwise(Op::Xor, to, any(type, in[0]), constant(type, is_wide(type) ? ~uint64_t{0} : ~0u));
      return to;
    }
    case Op::Shl:
    case Op::Shr: return shift(op, type, in);
    case Op::Fma:
    case Op::Mad: {
      const auto product = integer(Op::Mul, type, in.first(2), 0);
      if (!product) return {};
      const Operand sum[] = {*product, in[2]};
      return integer(Op::Add, type, sum, 1);
    }
    case Op::Neg: {
      const Operand difference[] = {constant(type, 0), in[0]};
      return integer(Op::Sub, type, difference, 0);
    }
    case Op::Abs: {
      if (is_wide(type) && !avx512_) return magnitude_of_wide(type, in[0]);
      const Vec to = of(type);
      cc_.emit(is_wide(type) ? I::kIdVpabsq : I::kIdVpabsd, to, in[0]);
      return to;
    }
    case Op::Div:
    case Op::Rem: return divide_integers(op, type, in);
    case Op::Sign: {
      const Operand from_below[] = {in[0], constant(type, is_wide(type) ? ~uint64_t{0} : ~0u)};
      const Operand from_above[] = {*integer(Op::Max, type, from_below, 0), constant(type, 1)};
      return integer(Op::Min, type, from_above, 1);
    }
    case Op::Wrap8:
    case Op::Wrap16: {
      const int bits = op == Op::Wrap8 ? 24 : 16;
      const Vec to = of(type);
      cc_.vpslld(to, any(type, in[0]), bits);
      if (is_signed_integer(type)) cc_.vpsrad(to, to, bits);
      else cc_.vpsrld(to, to, bits);
      return to;
    }
    case Op::MulHi: {
      if (is_wide(type)) return {};
      const auto [even, odd] = products(type, in[0], in[1], false);
      return half_of_products(even, odd, true);
    }
    default: return {};
  }
}

// The count is an immediate, or lanes of 32 bits that count modulo the width.
std::optional<BaseReg> X86::shift(Op op, DType type, std::span<const Operand> in) {
  const bool eight = is_wide(type), left = op == Op::Shl,
             arithmetic = !left && is_signed_integer(type);
  const bool without_signs = eight && arithmetic && !avx512_;
  const Vec a = any(type, in[0]), to = of(type);
  if (in[1].isImm()) {
    const uint64_t n = in[1].as<asmjit::Imm>().valueAs<uint64_t>() % (eight ? 64 : 32);
    if (without_signs) {
      cc_.vpsrlq(to, a, asmjit::imm(n));
      return with_signs(type, to, constant(type, (uint64_t{1} << 63) >> n));
    }
    const Id id = left         ? (eight ? I::kIdVpsllq : I::kIdVpslld)
                  : arithmetic ? (eight ? I::kIdVpsraq : I::kIdVpsrad)
                               : (eight ? I::kIdVpsrlq : I::kIdVpsrld);
    cc_.emit(id, to, a, asmjit::imm(n));
    return to;
  }
  const Vec count = of(type);
  const Vec given = any(DType::U32, in[1]);
  if (eight) cc_.vpmovzxdq(count, part(given, bytes(DType::U32)));
  bitwise(Op::And, count, eight ? count : given, constant(type, eight ? 63 : 31));
  if (without_signs) {
    const Vec sign = of(type);
    cc_.vpsrlvq(to, a, count);
    cc_.vpsrlvq(sign, any(type, constant(type, uint64_t{1} << 63)), count);
    return with_signs(type, to, sign);
  }
  const Id id = left         ? (eight ? I::kIdVpsllvq : I::kIdVpsllvd)
                : arithmetic ? (eight ? I::kIdVpsravq : I::kIdVpsravd)
                             : (eight ? I::kIdVpsrlvq : I::kIdVpsrlvd);
  cc_.emit(id, to, a, count);
  return to;
}

BaseReg X86::upper_half(DType type, BaseReg value, uint32_t half) {
  const Vec v = value.as<Vec>();
  const Vec upper = of(type);
  if (half == 32) cc_.vshufi64x2(upper, v, v, 0x4e);
  else if (half == 16 && v.isZmm()) cc_.vshufi64x2(upper, v, v, 0xb1);
  else if (half == 16) cc_.vpermq(upper, v, 0x4e);
  else cc_.vpshufd(upper, v, half == 8 ? 0x4e : 0xb1);
  return upper;
}

// Of the even lanes and of the odd lanes, of 64 bits each.
std::pair<X86::Vec, X86::Vec> X86::products(DType type, const Operand& a, const Operand& b,
                                            bool shared) {
  const Id multiply = is_signed_integer(type) ? I::kIdVpmuldq : I::kIdVpmuludq;
  const Vec x = any(type, a), y = any(type, b), even = of(type), odd = of(type);
  cc_.emit(multiply, even, x, y);
  cc_.vpsrlq(odd, x, 32);
  Vec other = y;
  if (!shared) cc_.vpsrlq(other = of(type), y, 32);
  cc_.emit(multiply, odd, odd, other);
  return {even, odd};
}

// Of each lane's product.
X86::Vec X86::half_of_products(const Vec& even, const Vec& odd, bool upper) {
  const Vec to = of(DType::U32);
  if (avx512_) {
    const uint32_t n = bytes(DType::U32) / sizeof(uint32_t);
    std::array<uint32_t, 16> from{};
    for (uint32_t l = 0; l < n; l++) from[l] = l / 2 * 2 + (upper ? 1 : 0) + l % 2 * n;
    move(to, literal(from.data(), bytes(DType::U32)));
    cc_.vpermi2d(to, even, odd);
  } else if (upper) {
    cc_.vpsrlq(to, even, 32);
    cc_.vpblendd(to, to, odd, 0xaa);
  } else {
    cc_.vpsllq(to, odd, 32);
    cc_.vpblendd(to, even, to, 0xaa);
  }
  return to;
}

std::pair<BaseReg, BaseReg> X86::whole_products(DType type, const Operand& a, const Operand& b,
                                                bool shared) {
  const auto [even, odd] = products(type, a, b, shared);
  const Vec high = half_of_products(even, odd, true), low = half_of_products(even, odd, false);
  return {high, low};
}

}  // namespace hologram::jit
