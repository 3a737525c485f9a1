// Reductions that leave NaN out.
#include <limits>

#include "hologram/ops.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using tensor::accumulator;
using tensor::cast_to;
using tensor::float_dtype;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor filled(const Tensor& x, double value) {
  return is_float(x.dtype()) ? where(isnan(x), value, x) : x;
}
Tensor counted(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(!isnan(x), axes, keepdims);
}

Tensor extreme(const Tensor& x, const Axes& axes, bool keepdims, bool largest) {
  if (!is_float(x.dtype())) return largest ? max(x, axes, keepdims) : min(x, axes, keepdims);
  const Tensor found = largest ? max(filled(x, -kInfinity), axes, keepdims)
                               : min(filled(x, kInfinity), axes, keepdims);
  return where(all(isnan(x), axes, keepdims), kNan, found);
}

}  // namespace

Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(x.to(DType::Bool), axes, keepdims);
}

Tensor nansum(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(filled(x, 0), axes, keepdims);
}
Tensor nanprod(const Tensor& x, const Axes& axes, bool keepdims) {
  return prod(filled(x, 1), axes, keepdims);
}
Tensor nanmin(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme(x, axes, keepdims, false);
}
Tensor nanmax(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme(x, axes, keepdims, true);
}

Tensor nanmean(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!is_float(x.dtype())) return mean(x, axes, keepdims);
  const Tensor wide = cast_to(x, accumulator(x.dtype()));
  const Tensor count = counted(x, axes, keepdims).to(wide.dtype());
  return cast_to(sum(filled(wide, 0), axes, keepdims) / count, x.dtype());
}

Tensor nanvar(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  if (!is_float(x.dtype())) return var(x, axes, correction, keepdims);
  const Tensor wide = cast_to(x, accumulator(x.dtype()));
  const Tensor apart = filled(wide - nanmean(wide, axes, true), 0);
  // What is infinite has no spread; only NaN of x itself is left out.
  const Tensor squares = where(isinf(wide), kNan, square(apart));
  const Tensor left =
      maximum(counted(x, axes, keepdims).to(wide.dtype()) - static_cast<double>(correction), 0);
  return cast_to(sum(squares, axes, keepdims) / left, x.dtype());
}
Tensor nanstd(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  const Tensor wide = cast_to(x, accumulator(float_dtype(x.dtype())));
  return cast_to(sqrt(nanvar(wide, axes, correction, keepdims)), float_dtype(x.dtype()));
}

}  // namespace hologram::ops
