// Numbers that callers give for elements of integer dtypes.
#pragma once

#include <cmath>
#include <string>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::tensor {

inline void need_number(const char* name, const Operand& operand) {
  if (!operand.is_number()) throw core::error(core::Text::NeedsNumber, name);
}

inline bool is_whole(const Operand& number) { return number.kind() != DType::F64; }

// The number for elements of an integer dtype, which may not hold it itself.
inline Whole whole_in(DType dtype, const Operand& number) {
  if (is_whole(number)) return whole_of(number);
  const double real = number.real();
  if (real != std::trunc(real) || std::fabs(real) > 0x1p64)
    throw core::error(core::Text::NumberRange, real, name_of(dtype));
  return static_cast<Whole>(real);
}

inline std::string text_of(Whole number) {
  std::string digits;
  for (Whole rest = number; rest != 0 || digits.empty(); rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + (rest < 0 ? -(rest % 10) : rest % 10)));
  return number < 0 ? '-' + digits : digits;
}

}  // namespace hologram::tensor
