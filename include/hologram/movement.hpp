// Elements put together, apart, and in other places.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// One after the other along an axis; along a new axis. dtypes are promoted. ShapeMismatch unless
// all other lengths are equal.
HOLOGRAM_API Tensor concat(const std::vector<Tensor>& tensors, int axis = 0);
HOLOGRAM_API Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);
// Views of parts of these lengths, which must add up; or of so many parts, as equal as can be, the
// longer ones first.
HOLOGRAM_API std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& lengths,
                                       int axis = 0);
HOLOGRAM_API std::vector<Tensor> split(const Tensor& x, int64_t parts, int axis = 0);

// `value` around x: so many elements before and after each axis.
struct Padding {
  int64_t before = 0, after = 0;
};
HOLOGRAM_API Tensor pad(const Tensor& x, const std::vector<Padding>& padding,
                        const Operand& value = 0);

// x at indices along an axis: the axis is replaced by those of `indices`. Without one, of x
// flattened. Negative indices count from the end; InvalidArgument, when the value is computed,
// for one outside.
HOLOGRAM_API Tensor take(const Tensor& x, const Tensor& indices, std::optional<int> axis = {});
// Position by position: result[i, j] = x[indices[i, j], j] for axis 0. All other lengths are
// equal, or those of `indices` 1.
HOLOGRAM_API Tensor gather(const Tensor& x, const Tensor& indices, int axis);
// x with values put, or added, at indices along an axis; `values` has the shape of `indices`.
// They go in order: of several for one place the last stays.
HOLOGRAM_API Tensor scatter(const Tensor& x, const Tensor& indices, const Operand& values,
                            int axis);
HOLOGRAM_API Tensor scatter_add(const Tensor& x, const Tensor& indices, const Operand& values,
                                int axis);

// Moved along axes, and in at the other end; without axes, flattened.
HOLOGRAM_API Tensor roll(const Tensor& x, int64_t shift, std::optional<int> axis = {});
// Each element so often; without an axis, flattened.
HOLOGRAM_API Tensor repeat(const Tensor& x, int64_t times, std::optional<int> axis = {});
// All of x so often along each of the last axes.
HOLOGRAM_API Tensor tile(const Tensor& x, const std::vector<int64_t>& times);

// The same value, dense in memory once it is computed; and one that shares no memory with x.
HOLOGRAM_API Tensor contiguous(const Tensor& x);
HOLOGRAM_API Tensor copy(const Tensor& x);
// x with a part of it replaced: values are repeated to the part's shape.
HOLOGRAM_API Tensor put(const Tensor& x, const std::vector<Slice>& part, const Operand& values);

// Parts that begin where a number on the device says: `start` is an integer, or an integer tensor
// without axes, whose value may differ from launch to launch of a captured graph. A negative one
// counts from the end. InvalidArgument, at the latest when something is read, where the part does
// not lie inside.
//
// length elements from start on, along the axis.
HOLOGRAM_API Tensor slice_at(const Tensor& x, int axis, const Operand& start, int64_t length);
// x with values, as many along the axis as they have, from start on; along the other axes they are
// repeated to x.
HOLOGRAM_API Tensor put_at(const Tensor& x, int axis, const Operand& start, const Tensor& values);

}  // namespace hologram::ops
