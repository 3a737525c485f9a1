#include "conformance/wide.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/half.hpp"

namespace hologram::conformance {
namespace {

template <class T>
T get(const std::byte* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof value, sizeof value);
  return value;
}
template <class T>
void put(std::byte* data, size_t i, T value) {
  std::memcpy(data + i * sizeof value, &value, sizeof value);
}

struct Format {
  int digits, lowest, highest;  // exponents of the smallest normal number and of the largest
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return {11, -14, 15};
    case DType::BF16: return {8, -126, 127};
    case DType::F32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

}  // namespace

Wide real_at(DType dtype, const std::byte* data, size_t i) {
  switch (dtype) {
    case DType::F16: return core::f16_to_f32(get<uint16_t>(data, i));
    case DType::BF16: return core::bf16_to_f32(get<uint16_t>(data, i));
    case DType::F32: return get<float>(data, i);
    case DType::F64: return get<double>(data, i);
    default: return static_cast<Wide>(whole_at(dtype, data, i));
  }
}

Integer whole_at(DType dtype, const std::byte* data, size_t i) {
  switch (dtype) {
    case DType::Bool: return get<uint8_t>(data, i) != 0;
    case DType::I8: return get<int8_t>(data, i);
    case DType::U8: return get<uint8_t>(data, i);
    case DType::I16: return get<int16_t>(data, i);
    case DType::U16: return get<uint16_t>(data, i);
    case DType::I32: return get<int32_t>(data, i);
    case DType::U32: return get<uint32_t>(data, i);
    case DType::U64: return get<uint64_t>(data, i);
    default: return get<int64_t>(data, i);
  }
}

void put_real(DType dtype, std::byte* data, size_t i, double value) {
  switch (dtype) {
    case DType::F16: return put(data, i, core::f32_to_f16(static_cast<float>(value)));
    case DType::BF16: return put(data, i, core::f32_to_bf16(static_cast<float>(value)));
    case DType::F32: return put(data, i, static_cast<float>(value));
    default: return put(data, i, value);
  }
}

void put_whole(DType dtype, std::byte* data, size_t i, Integer value) {
  const auto bits = static_cast<uint64_t>(value);
  switch (size_of(dtype)) {
    case 1: return put(data, i, static_cast<uint8_t>(dtype == DType::Bool ? bits != 0 : bits));
    case 2: return put(data, i, static_cast<uint16_t>(bits));
    case 4: return put(data, i, static_cast<uint32_t>(bits));
    default: return put(data, i, bits);
  }
}

Integer wrapped(DType dtype, Integer value) {
  std::byte memory[8];
  put_whole(dtype, memory, 0, value);
  return whole_at(dtype, memory, 0);
}

bool is_negative(Wide x) { return std::signbit(static_cast<double>(x)); }

double error_in_units(DType dtype, Wide result, Wide exact, Wide scale) {
  if (is_nan(result) || is_nan(exact))
    return is_nan(result) && is_nan(exact) ? 0 : std::numeric_limits<double>::infinity();
  if (result == exact) return 0;
  if (is_infinite(exact)) return std::numeric_limits<double>::infinity();
  const Format f = format_of(dtype);
  const auto power = [](int exponent) { return static_cast<Wide>(std::ldexp(1.0L, exponent)); };
  const Wide size = std::max(magnitude(scale), magnitude(exact));
  int exponent = f.lowest;
  if (is_infinite(size)) exponent = f.highest;
  else if (size > 0) std::frexp(static_cast<long double>(size), &exponent), exponent--;
  exponent = std::clamp(exponent, f.lowest, f.highest);
  // Infinity stands for the next number beyond the largest.
  if (is_infinite(result))
    result = is_negative(result) ? -power(f.highest + 1) : power(f.highest + 1);
  if (result == power(f.highest + 1) && exact >= result) return 0;
  if (result == -power(f.highest + 1) && exact <= result) return 0;
  return static_cast<double>(magnitude(result - exact) / power(exponent - f.digits + 1));
}

int digits_of(DType dtype) { return format_of(dtype).digits; }
double largest_of(DType dtype) {
  const Format f = format_of(dtype);
  return std::ldexp(2 - std::ldexp(1.0, 1 - f.digits), f.highest);
}
double smallest_of(DType dtype) { return std::ldexp(1.0, format_of(dtype).lowest); }

}  // namespace hologram::conformance
