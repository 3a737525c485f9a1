// The same values, lying in memory in different ways.
#pragma once

#include <span>
#include <string_view>

#include "hologram/tensor.hpp"

namespace hologram::conformance {

enum class Arrangement : uint8_t {
  Dense,
  Reversed,   // axes in the opposite order in memory
  Repeated,   // rows or columns that are there once
  Spread,     // every second element; what lies between is poison
  Backwards,  // every axis from its end
  Inside      // poison before and behind
};

struct Layout {
  std::string_view name;
  Arrangement arrangement;
  Shape shape;
};

std::span<const Layout> layouts();

// Which elements of an operand of this shape are there at all: its shape before it is repeated.
Shape stored_shape(const Layout& layout, size_t operand, size_t operands);

// A tensor of the layout's shape with these values, which have the stored shape.
Tensor laid_out(const Layout& layout, const Array& values, const Executor& executor);

// The same, of what is made from nothing: the shape to make for a stored shape, how the layout
// looks at it, and the index in it of element i of the stored shape.
Shape dense_shape(const Layout& layout, const Shape& stored);
Tensor looked_at(const Layout& layout, const Tensor& dense, const Shape& stored);
size_t dense_at(const Layout& layout, const Shape& stored, size_t i);

// The position in the stored values of element i of the layout's shape.
size_t stored_at(const Shape& shape, const Shape& stored, size_t i);

}  // namespace hologram::conformance
