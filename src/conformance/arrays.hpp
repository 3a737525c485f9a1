// Arrays element by element: what operations that move, count or compare elements are held against.
#pragma once

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "hologram/error.hpp"

namespace hologram::conformance {

using Place = Shape;  // coordinates

Place place_of(const Shape& shape, size_t i);
size_t index_of(const Shape& shape, const Place& at);

// Any bits that the dtype has: of floats NaN, infinities and denormals among them.
Array any_bits(DType dtype, const Shape& shape, Generator& generator);
// Whole numbers of -8 … 8 (of 0 … 16 where there is no sign).
Array small_numbers(DType dtype, const Shape& shape, Generator& generator);

// An operand's stored values as the layout shows them, dense.
Array shown(const Layout& layout, const Array& stored);

void copy_element(const Array& from, size_t i, Array& to, size_t j);

// An array whose element at each place is the one that `from` names by array and index.
struct Origin {
  const Array& array;
  size_t index;
};
Array built(DType dtype, const Shape& shape, core::FunctionRef<Origin(const Place&)> from);

// Bit for bit; all NaN are one.
Finding same_arrays(std::span<const Array> results, std::span<const Array> expected);
std::vector<Array> arrays_of(const std::vector<Tensor>& tensors);

// Passes if the body throws an error of this kind.
Finding refused(ErrorKind kind, core::FunctionRef<void()> body);

// The axes to try an operation along one axis on: the first and the last.
std::vector<int> outer_axes(const Shape& shape);

}  // namespace hologram::conformance
