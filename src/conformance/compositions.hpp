// Compositions of other operations, held against loops that go element by element. Numbers are
// small and whole, NaN and infinities among them where the function looks at such, so that sums are
// exact.
#pragma once

#include <algorithm>
#include <limits>

#include "conformance/arrays.hpp"

namespace hologram::conformance {

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;
using Row = std::vector<Wide>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline size_t last(const Shape& shape) { return shape.size() - 1; }
inline Wide value(const Array& a, size_t i) { return real_at(a.dtype(), a.data(), i); }
inline Wide value(const Array& a, const Place& at) { return value(a, index_of(a.shape(), at)); }
inline void put(Array& a, size_t i, Wide v) {
  if (is_float(a.dtype())) put_real(a.dtype(), a.mutable_data(), i, static_cast<double>(v));
  else put_whole(a.dtype(), a.mutable_data(), i, static_cast<Integer>(v));
}
inline Array made(DType dtype, const Shape& shape, core::FunctionRef<Wide(const Place&)> from) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.size(); i++) put(array, i, from(place_of(shape, i)));
  return array;
}
inline Array vector_of(DType dtype, const Row& values) {
  return made(dtype, {static_cast<int64_t>(values.size())},
              [&](const Place& at) { return values[static_cast<size_t>(at[0])]; });
}
inline Place with(Place at, size_t axis, int64_t i) {
  at[axis] = i;
  return at;
}
inline Place without(Place at, size_t axis) {
  at.erase(at.begin() + static_cast<int64_t>(axis));
  return at;
}
inline Place inserted(Place at, size_t axis, int64_t i) {
  at.insert(at.begin() + static_cast<int64_t>(axis), i);
  return at;
}
inline Row all_of(const Array& a) {
  Row row(a.size());
  for (size_t i = 0; i < row.size(); i++) row[i] = value(a, i);
  return row;
}
// NaN as the largest.
inline bool before(Wide a, Wide b) { return is_nan(b) ? !is_nan(a) : a < b; }
// Along the last axis.
inline Row row_at(const Array& a, const Place& of_row) {
  Row row;
  for (int64_t i = 0; i < a.shape().back(); i++)
    row.push_back(value(a, inserted(of_row, last(a.shape()), i)));
  return row;
}
inline Array reduced(const Array& a, DType dtype, Wide (*of)(const Row&)) {
  return made(dtype, without(a.shape(), last(a.shape())),
              [&](const Place& at) { return of(row_at(a, at)); });
}
inline DType float_dtype(DType t) { return is_float(t) ? t : DType::F32; }
inline DType sum_dtype(DType t) { return is_float(t) || t == DType::U64 ? t : DType::I64; }

// Which dtypes it takes.
enum class Of : uint8_t {
  Any,
  Numbers,
  Integers,
  WideNumbers,
  Floats
};  // no bool; no f16, bf16 and bytes

struct Composition {
  std::string_view name, variant;
  Of of;
  size_t least, most;  // axes
  bool of_nothing;
  bool special;  // NaN and infinities
  Tensors (*run)(const Tensor& x, const Tensor& y);
  Arrays (*expected)(const Array& a, const Array& b);
};

void try_compositions(Suite& suite, std::span<const Composition> all);

}  // namespace hologram::conformance
