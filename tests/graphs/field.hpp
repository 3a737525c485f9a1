// What the oracle says of a tensor, element by element: exact whole numbers, ranges of floats, or
// nothing. Written from docs/, in wider types, without the library's arithmetic.
#pragma once

#include <string>
#include <vector>

#include "conformance/wide.hpp"
#include "hologram/array.hpp"

namespace hologram::graphs {

using conformance::Integer;
using conformance::is_infinite;
using conformance::is_nan;
using conformance::magnitude;
using conformance::Wide;

struct Element {
  Integer whole = 0;       // of integers and bool
  Wide low = 0, high = 0;  // of floats; both NaN: NaN
  bool known = true;
  bool exact() const { return known && (low == high || is_nan(low)); }
};

struct Field {
  DType dtype = DType::None;
  Shape shape;
  std::vector<Element> elements;
  size_t size() const { return elements.size(); }
};

inline Element whole(Integer value) { return {value, 0, 0, true}; }
inline Element real(Wide value) { return {0, value, value, true}; }
inline Element range(Wide low, Wide high) { return {0, low, high, true}; }
inline Element unknown() { return {0, 0, 0, false}; }
inline Element not_a_number() { return real(static_cast<Wide>(__builtin_nan(""))); }

// The values that are there; of `shape`, and all of them unknown.
Field field_of(const Array& array);
Field unknown_field(DType dtype, const Shape& shape);

// The distance of neighbouring numbers around this one.
Wide unit_of(DType dtype, Wide size);
// f32's or f64's, as `dtype` is accumulated: the distance of 1 and the next number.
Wide epsilon_of(DType dtype);
DType accumulator_of(DType dtype);
Wide largest_of(DType dtype);
// The nearest number of the dtype: of f16 and bf16 by way of f32.
Wide rounded(DType dtype, Wide x);

// A float result, known to within [low - slack, high + slack] before it is rounded. What is f16 or
// bf16 may go on unrounded in the same kernel; what is stored has been rounded.
Element result(DType dtype, Wide low, Wide high, Wide slack = 0);

// A cast as the documents define it. `rounds`: to f16 and bf16 too, as casts that were asked for.
Element converted(const Element& e, DType from, DType to);
Field converted(const Field& x, DType to);

// The dtype that operands of both are brought to; None where there is none.
DType promoted(DType a, DType b);

// Empty if every element of the array is as the field says; else the first that is not. Adds to
// the counts of compared elements and of those of which nothing is known.
struct Tally {
  uint64_t compared = 0, unknown = 0;
};
std::string difference(const Field& right, const Array& have, Tally& tally);
std::string text_of(const Array& array, size_t i);
std::string text_of(const Field& field, size_t i);

// Element numbers and coordinates, row by row.
size_t elements_in(const Shape& shape);
Shape place_of(const Shape& shape, size_t i);
size_t index_of(const Shape& shape, const Shape& place);
// The element of an operand of shape `own` that stands at a place of a shape it is repeated to.
size_t broadcast_index(const Shape& own, const Shape& place);
bool repeats_to(const Shape& own, const Shape& shape);
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace hologram::graphs
