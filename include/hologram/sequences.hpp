// What goes along an axis: differences, running extremes, interpolation.
#pragma once

#include "hologram/creation.hpp"

namespace hologram::ops {

// x[i + 1] - x[i] along an axis, taken so many times. Of bool whether they differ; unsigned
// integers wrap.
HOLOGRAM_API Tensor diff(const Tensor& x, int64_t times = 1, int axis = -1);

// The largest (smallest) element up to and including each, NaN from the first NaN on; and the i64
// index of the last one that is equal to it.
struct RunningExtreme {
  Tensor values, indices;
};
HOLOGRAM_API RunningExtreme cummax(const Tensor& x, int axis = -1);
HOLOGRAM_API RunningExtreme cummin(const Tensor& x, int axis = -1);

// The line through the points (at[i], values[i]), at x: `at` ascends. Below the first it is `left`,
// above the last `right`; without these the first, or last, value. In the dtype of all three, of
// integers in f32. ShapeMismatch unless both are vectors of one length that is not 0.
HOLOGRAM_API Tensor interp(const Tensor& x, const Tensor& at, const Tensor& values,
                           std::optional<double> left = {}, std::optional<double> right = {});

// base to the powers of linspace(start, stop, count). f32's own rounding of the exponent shows:
// the error is about |exponent * log(base)| units in the last place.
HOLOGRAM_API Tensor logspace(double start, double stop, int64_t count, double base = 10,
                             DType dtype = DType::F32,
                             const Executor& executor = default_executor());

}  // namespace hologram::ops
