// Element types.
//
// A *storage* type is what a buffer holds; a *compute* type is what a kernel's values have. Narrow
// types widen when loaded (i8, i16 -> i32; u8, u16 -> u32; f16, bf16 -> f32) and are rounded or
// wrapped when stored, so that every device computes the same thing with the same seven types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "hologram/export.hpp"

namespace hologram {

enum class DType : uint8_t {
  None,
  Bool,  // one byte in memory: 0 is false, anything else true; written as 0 or 1
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,   // IEEE 754 binary16
  BF16,  // the upper half of a binary32
  F32,   // IEEE 754 binary32
  F64,   // IEEE 754 binary64
};
inline constexpr size_t kDTypeCount = 14;

// Size of one element in bytes; 0 for None.
HOLOGRAM_API size_t size_of(DType type);

// "f32", "bool", …; "none" for None.
HOLOGRAM_API std::string_view name_of(DType type);

// The inverse of name_of; empty if there is no such type.
HOLOGRAM_API std::optional<DType> parse_dtype(std::string_view name);

constexpr bool is_float(DType t) { return t >= DType::F16; }
constexpr bool is_integer(DType t) { return t >= DType::I8 && t <= DType::U64; }
constexpr bool is_signed_integer(DType t) {
  return t == DType::I8 || t == DType::I16 || t == DType::I32 || t == DType::I64;
}
constexpr bool is_unsigned_integer(DType t) { return is_integer(t) && !is_signed_integer(t); }

// The type a value of storage type `t` has inside a kernel.
constexpr DType compute_type(DType t) {
  switch (t) {
    case DType::I8:
    case DType::I16: return DType::I32;
    case DType::U8:
    case DType::U16: return DType::U32;
    case DType::F16:
    case DType::BF16: return DType::F32;
    default: return t;
  }
}
constexpr bool is_compute_type(DType t) { return t != DType::None && compute_type(t) == t; }

// The element type of a C++ arithmetic type: dtype_of<float> is DType::F32.
template <class T>
inline constexpr DType dtype_of = [] {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return DType::Bool;
  else if constexpr (std::is_same_v<U, float>) return DType::F32;
  else if constexpr (std::is_same_v<U, double>) return DType::F64;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
    return sizeof(U) == 1   ? DType::I8
           : sizeof(U) == 2 ? DType::I16
           : sizeof(U) == 4 ? DType::I32
                            : DType::I64;
  else if constexpr (std::is_integral_v<U>)
    return sizeof(U) == 1   ? DType::U8
           : sizeof(U) == 2 ? DType::U16
           : sizeof(U) == 4 ? DType::U32
                            : DType::U64;
  else return DType::None;
}();

}  // namespace hologram
