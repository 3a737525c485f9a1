// Gradients that take more than a line: from a result's cotangent to an operand's.
#pragma once

#include "hologram/convolution.hpp"
#include "hologram/hal/operations.hpp"
#include "tensor/reducer.hpp"
#include "tensor/tape.hpp"

namespace hologram::tensor::rules {

using Rule = std::function<Tensor(const Tensor& g)>;

// What rules know of a reduction.
struct Rows {
  explicit Rows(const Reducer& r);
  Tensor kept(const Tensor& result) const { return result.reshape(with_ones); }
  Tensor repeated(const Tensor& result) const { return kept(result).broadcast_to(shape); }
  Tensor sum(const Tensor& of) const;  // axes stay

  std::vector<int> axes;
  Shape shape, with_ones;
  int64_t count;
  DType wide;
};

Rule of_sum(const Rows& rows);
// Elements that are the extreme one share it.
Rule of_extreme(const Rows& rows, const Tensor& x, const Tensor& y);
Rule of_mean(const Rows& rows);
Rule of_var(const Rows& rows, const Tensor& x, double correction);
Rule of_std(const Rows& rows, const Tensor& x, const Tensor& y, double correction);
Rule of_norm(const Rows& rows, const Tensor& x, const Tensor& y, double order);
Rule of_prod(const Rows& rows, const Tensor& x, const Tensor& y);
Rule of_logsumexp(const Rows& rows, const Tensor& x, const Tensor& y);
Rule of_softmax(const Rows& rows, const Tensor& y);
Rule of_log_softmax(const Rows& rows, const Tensor& y);

Rule of_cumsum(int axis);
Rule of_cumprod(const Tensor& x, const Tensor& y, int axis);
// Of elements that were taken from these places along an axis of a tensor of this shape.
Rule of_gather(const Shape& shape, const Tensor& indices, int axis);
Rule of_take(const Shape& shape, const Tensor& indices, int axis);
// Of values that were put at these places: of several for one place the last counts.
Rule of_scattered(const Tensor& indices, const Shape& shape, int axis);

// Of matrices: the cotangents of both factors.
Tensors of_matmul(const Tensor& a, const Tensor& b, const Tensor& g, const Wanted& wanted);
// Of images, Nhwc, and weights.
Tensors of_conv2d(const Tensor& x, const Tensor& w, const hal::ConvAxis& rows,
                  const hal::ConvAxis& columns, int64_t groups, const Tensor& g,
                  const Wanted& wanted);
// Of images, Nhwc, in windows. Of equal elements the first counts.
Rule of_max_pool2d(const Tensor& x, const Tensor& y, const hal::ConvAxis& rows,
                   const hal::ConvAxis& columns);
Rule of_avg_pool2d(const Tensor& counts, const hal::ConvAxis& rows, const hal::ConvAxis& columns);

}  // namespace hologram::tensor::rules
