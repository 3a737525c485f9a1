// Everything that can be done with tensors.
#pragma once

#include "hologram/comparison.hpp"
#include "hologram/convolution.hpp"
#include "hologram/creation.hpp"
#include "hologram/elementwise.hpp"
#include "hologram/indexing.hpp"
#include "hologram/linear.hpp"
#include "hologram/matrices.hpp"
#include "hologram/movement.hpp"
#include "hologram/ordering.hpp"
#include "hologram/rearrangement.hpp"
#include "hologram/reductions.hpp"
#include "hologram/sequences.hpp"
#include "hologram/sets.hpp"
#include "hologram/statistics.hpp"

namespace hologram {

// clang-format off
inline Tensor operator+(const Operand& a, const Operand& b) { return ops::add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return ops::sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return ops::mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return ops::div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return ops::rem(a, b); }
inline Tensor operator-(const Tensor& x) { return ops::neg(x); }
inline Tensor operator==(const Operand& a, const Operand& b) { return ops::eq(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return ops::ne(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return ops::lt(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return ops::le(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return ops::gt(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return ops::ge(a, b); }
inline Tensor operator&(const Operand& a, const Operand& b) { return ops::bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return ops::bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return ops::bitwise_xor(a, b); }
inline Tensor operator<<(const Operand& a, const Operand& b) { return ops::shift_left(a, b); }
inline Tensor operator>>(const Operand& a, const Operand& b) { return ops::shift_right(a, b); }
// Of two tensors, which nobody needs to own meanwhile.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return ops::rem(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return ops::eq(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ops::ne(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return ops::lt(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return ops::le(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return ops::gt(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ops::ge(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return ops::bitwise_and(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return ops::bitwise_or(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return ops::bitwise_xor(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator<<(const Tensor& a, const Tensor& b) { return ops::shift_left(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator>>(const Tensor& a, const Tensor& b) { return ops::shift_right(Operand::borrowed(a), Operand::borrowed(b)); }
inline Tensor operator~(const Tensor& x) { return ops::bitwise_not(x); }
inline Tensor operator!(const Tensor& x) { return ops::logical_not(x); }
// clang-format on

}  // namespace hologram
