// Lanes of 64 bits without AVX-512, which has instructions for all of this.
#include "jit/x86.hpp"

namespace hologram::jit {

BaseReg X86::extreme_of_wide(bool most, DType type, const Operand& first, const Operand& second) {
  const Vec a = any(type, first), b = any(type, second), to = of(type);
  const Vec greater = where_greater(type, a, b);
  cc_.vblendvpd(to, most ? b : a, most ? a : b, greater);
  return to;
}

// x without its sign: ~x + 1 where it is negative.
BaseReg X86::magnitude_of_wide(DType type, const Operand& v) {
  const Vec x = any(type, v), to = of(type);
  const Vec negative = where_greater(type, any(type, constant(type, 0)), x);
  bitwise(Op::Xor, to, x, negative);
  cc_.vpsubq(to, to, negative);
  return to;
}

// By halves: those above the 64th bit are left out.
BaseReg X86::product_of_wide(DType type, const Operand& first, const Operand& second) {
  const Vec a = any(type, first), b = any(type, second);
  const Vec crossed = of(type), other = of(type), to = of(type);
  cc_.vpsrlq(crossed, a, 32);
  cc_.vpmuludq(crossed, crossed, b);
  cc_.vpsrlq(other, b, 32);
  cc_.vpmuludq(other, other, a);
  cc_.vpaddq(crossed, crossed, other);
  cc_.vpsllq(crossed, crossed, 32);
  cc_.vpmuludq(to, a, b);
  cc_.vpaddq(to, to, crossed);
  return to;
}

// What `shifted` is without its sign, whose bit is at `sign` now, with copies of it above.
BaseReg X86::with_signs(DType type, Vec shifted, const Operand& sign) {
  const Vec to = of(type);
  bitwise(Op::Xor, to, shifted, sign);
  cc_.vpsubq(to, to, any(type, sign));
  return to;
}

// Exact parts whose sum is rounded once: the upper and the lower half, as the last bits of large
// numbers of f64.
BaseReg X86::wide_to_f64(DType from, const Operand& v) {
  constexpr uint64_t k52 = 0x4330000000000000u, k84 = 0x4530000000000000u;  // 2^52, 2^84
  constexpr uint64_t kBoth = 0x4530000000100000u;                           // 2^84 + 2^52
  constexpr uint64_t kBothSigned = 0x4530000080100000u;                     // 2^84 + 2^63 + 2^52
  const bool is_signed = is_signed_integer(from);
  const Vec x = any(from, v), high = of(from), low = of(from), to = of(DType::F64);
  cc_.vpblendd(low, x, any(from, constant(from, k52)), 0xaa);
  cc_.vpsrlq(high, x, 32);
  // Of signed numbers, with 2^63 added.
  bitwise(Op::Xor, high, high, constant(from, is_signed ? k84 ^ 0x80000000u : k84));
  cc_.vsubpd(high, high, any(from, constant(from, is_signed ? kBothSigned : kBoth)));
  cc_.vaddpd(to, high, low);
  return to;
}

}  // namespace hologram::jit
