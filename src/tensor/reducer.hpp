// What reductions share: their axes, the dtypes that they work in and return.
#pragma once

#include <algorithm>

#include "core/messages.hpp"
#include "hologram/reductions.hpp"
#include "tensor/composite.hpp"

namespace hologram::tensor {

// f16 and bf16 accumulate in f32.
inline DType accumulator(DType t) { return compute_type(t); }
inline DType float_dtype(DType t) { return is_float(t) ? t : DType::F32; }
// Whether a sum of such numbers can be beyond what it is made in.
inline bool can_overflow(DType t) { return is_float(t) && t != DType::F16; }
inline DType sum_dtype(DType t) {
  if (is_float(t)) return t;
  return t == DType::U64 ? DType::U64 : DType::I64;
}

struct Reducer {
  const char* name;
  const Tensor& x;
  AxisList axes;
  bool keepdims;

  Reducer(const char* name, const Tensor& x, const ops::Axes& wanted, bool keepdims)
      : name(name), x(x), axes(checked_axes(name, wanted.list, x.rank())), keepdims(keepdims) {}
  // That of a node: `numbers` begin with what meant() wrote.
  Reducer(const char* name, const Tensor& x, std::span<const int64_t> numbers)
      : name(name), x(x), axes(as_axes(numbers[0])), keepdims(numbers[1] != 0) {}

  DType to() const { return float_dtype(x.dtype()); }  // of results that are no integers
  int64_t count() const {
    int64_t n = 1;
    for (const int axis : axes) n *= x.size(axis);
    return n;
  }
  Tensor run(const Tensor& of, program::Combine combine) const {
    return reduce(of, combine, axes, keepdims);
  }
  Tensor kept(const Tensor& of, program::Combine combine) const {
    return reduce(of, combine, axes, true);
  }
  Tensor without(const Tensor& result) const { return keepdims ? result : result.reshape(shape()); }
  Shape shape() const {  // of the result
    Shape shape;
    for (int k = 0; k < x.rank(); k++)
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) shape.push_back(x.size(k));
      else if (keepdims) shape.push_back(1);
    return shape;
  }
  // The reduction as one node; `more` are the numbers that it reads behind the axes.
  Tensor meant(const graph::CompositeOp& op, DType dtype, const Shape& shape,
               std::initializer_list<int64_t> more = {}) const {
    std::vector<int64_t> numbers = {as_number(axes), keepdims};
    numbers.insert(numbers.end(), more);
    return tensor::meant(op, dtype, shape, {x}, std::move(numbers));
  }
  void refuse_empty() const {
    if (count() == 0) throw core::error(core::Text::EmptyReduction, name, to_string(x.shape()));
  }
};

}  // namespace hologram::tensor
