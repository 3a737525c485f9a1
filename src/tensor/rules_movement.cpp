#include <algorithm>

#include "hologram/ops.hpp"
#include "tensor/rules.hpp"

namespace hologram::tensor::rules {

using namespace ops;

namespace {

Tensor sums_from_behind(const Tensor& x, int axis) {
  return cumsum(x.flip({axis}), axis).flip({axis});
}

}  // namespace

Rule of_cumsum(int axis) {
  return [axis](const Tensor& g) { return sums_from_behind(g, axis); };
}

Rule of_cumprod(const Tensor& x, const Tensor& y, int axis) {
  return [=](const Tensor& g) {
    const DType wide = accumulator(x.dtype());
    const Tensor of = x.to(wide), is_zero = of == 0;
    const Tensor zeros = cumsum(is_zero.to(DType::I64), axis);
    const Tensor is_first = is_zero & (zeros == 1);
    // Products go on behind the first 0 as if it were 1: those are its slopes. Behind it all
    // products are 0, and stay so.
    const Tensor beyond = cumprod(where(is_first, 1, of), axis);
    const Tensor at_first = sums_from_behind(where(zeros == 1, g.to(wide) * beyond, 0), axis);
    const Tensor before = sums_from_behind(g.to(wide) * y.to(wide), axis) / of;
    return where(is_first, at_first, where(zeros == 0, before, 0));
  };
}

Rule of_gather(const Shape& shape, const Tensor& indices, int axis) {
  return [=](const Tensor& g) {
    Shape all = shape;
    all[static_cast<size_t>(axis)] = indices.size(axis);
    return scatter_add(zeros(shape, g.dtype(), g.executor()), indices.broadcast_to(all), g, axis);
  };
}

Rule of_take(const Shape& shape, const Tensor& indices, int axis) {
  return [=](const Tensor& g) {
    int64_t outer = 1, inner = 1;
    for (size_t k = 0; k < shape.size(); k++)
      if (k != static_cast<size_t>(axis))
        (k < static_cast<size_t>(axis) ? outer : inner) *= shape[k];
    const int64_t taken = indices.size(), length = shape[static_cast<size_t>(axis)];
    const Tensor at = indices.reshape({1, taken, 1}).broadcast_to({outer, taken, inner});
    return scatter_add(zeros({outer, length, inner}, g.dtype(), g.executor()), at,
                       g.reshape({outer, taken, inner}), 1)
        .reshape(shape);
  };
}

Rule of_scattered(const Tensor& indices, const Shape& shape, int axis) {
  return [=](const Tensor& g) {
    // Each place remembers who came last.
    const Tensor numbers =
        arange(0, indices.size(), 1, DType::I64, g.executor()).reshape(indices.shape());
    const Tensor last = scatter(full(shape, -1, DType::I64, g.executor()), indices, numbers, axis);
    return where(gather(last, indices, axis) == numbers, gather(g, indices, axis), 0);
  };
}

Tensors of_matmul(const Tensor& a, const Tensor& b, const Tensor& g, const Wanted& wanted) {
  Tensors back(2);
  if (wanted[0]) back[0] = sum_to(matmul(g, b.transpose()), a.shape());
  if (wanted[1]) back[1] = sum_to(matmul(a.transpose(), g), b.shape());
  return back;
}

}  // namespace hologram::tensor::rules
