// Which dtype an operation works in: the array API standard's promotion, with two additions. An
// integer and a float give the float's dtype; f16 and bf16 give f32.
#include <algorithm>

#include "core/messages.hpp"
#include "hologram/tensor.hpp"

namespace hologram {
namespace {

DType signed_of(size_t bytes) {
  switch (bytes) {
    case 1: return DType::I8;
    case 2: return DType::I16;
    case 4: return DType::I32;
    default: return DType::I64;
  }
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  const size_t larger = std::max(size_of(a), size_of(b));
  if (is_float(a)) return larger == 8 ? DType::F64 : DType::F32;
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) > size_of(b) ? a : b;
  const DType plain = is_signed_integer(a) ? b : a, with_sign = is_signed_integer(a) ? a : b;
  if (size_of(plain) == 8) throw core::error(core::Text::PromoteUnsigned, name_of(a), name_of(b));
  return signed_of(std::max(size_of(with_sign), 2 * size_of(plain)));
}

}  // namespace hologram
