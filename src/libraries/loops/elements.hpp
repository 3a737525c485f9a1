// Elements as they lie in memory, for loops over any type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/half.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::libraries::loops {

// How elements of a type are stored, and what they are inside a program.
template <DType kDType, class Kept, class Computed = Kept>
struct Element {
  static constexpr DType kType = kDType;
  using Stored = Kept;
  using Value = Computed;
  static Value load(Stored x) {
    if constexpr (kType == DType::Bool) return x != 0;
    else if constexpr (kType == DType::F16) return core::f16_to_f32(x);
    else if constexpr (kType == DType::BF16) return core::bf16_to_f32(x);
    else return x;
  }
  static Stored store(Value x) {
    if constexpr (kType == DType::F16) return core::f32_to_f16(x);
    else if constexpr (kType == DType::BF16) return core::f32_to_bf16(x);
    else return static_cast<Stored>(x);
  }
  // store(load(x)): of bools there are several, and numbers that are none become quiet.
  static Stored moved(Stored x) {
    if constexpr (kType == DType::Bool) return x != 0;
    else if constexpr (kType == DType::F16) return quiet(x, 0x7c00);
    else if constexpr (kType == DType::BF16) return quiet(x, 0x7f80);
    else return x;
  }

 private:
  // The highest bit of the mantissa is set: infinity has the lowest one of the exponent above it.
  static Stored quiet(Stored x, uint32_t infinity) {
    const uint32_t bit = (infinity & -infinity) >> 1;
    return static_cast<Stored>((x & 0x7fffu) > infinity ? x | bit : x);
  }
};

// Calls body(Element) of that type.
template <class Body>
auto of_type(DType type, const Body& body) {
  switch (type) {
    case DType::Bool: return body(Element<DType::Bool, uint8_t>());
    case DType::I8: return body(Element<DType::I8, int8_t>());
    case DType::U8: return body(Element<DType::U8, uint8_t>());
    case DType::I16: return body(Element<DType::I16, int16_t>());
    case DType::U16: return body(Element<DType::U16, uint16_t>());
    case DType::I32: return body(Element<DType::I32, int32_t>());
    case DType::U32: return body(Element<DType::U32, uint32_t>());
    case DType::I64: return body(Element<DType::I64, int64_t>());
    case DType::U64: return body(Element<DType::U64, uint64_t>());
    case DType::F16: return body(Element<DType::F16, uint16_t, float>());
    case DType::BF16: return body(Element<DType::BF16, uint16_t, float>());
    case DType::F32: return body(Element<DType::F32, float>());
    default: return body(Element<DType::F64, double>());
  }
}

// body(i) for each of [begin, end), by blocks that compilers take side by side.
template <class Body>
void for_each(int64_t begin, int64_t end, const Body& body) {
  constexpr int64_t kBlock = 64;
  for (; begin + kBlock <= end; begin += kBlock)
    for (int64_t k = 0; k < kBlock; k++) body(begin + k);
  for (; begin < end; begin++) body(begin);
}

// Elements worth a thread: some ten microseconds.
inline constexpr int64_t kWorthAThread = 1 << 14;

}  // namespace hologram::libraries::loops
