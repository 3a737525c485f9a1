// Tensors as sets of values.
#pragma once

#include "hologram/ordering.hpp"

namespace hologram::ops {

// The different values of x in ascending order as `unique` has them (all NaN are one, -0 is 0);
// where each of them is first, in x flattened; which of them each element of x is, in the shape of
// x; and how often each is there: i64. Computes x, as the shapes depend on it.
struct UniqueAll {
  Tensor values, indices, inverse, counts;
};
HOLOGRAM_API UniqueAll unique_all(const Tensor& x);

// Whether each element of x is one of `elements`, or, if `invert`, is not. NaN is none.
HOLOGRAM_API Tensor isin(const Tensor& x, const Tensor& elements, bool invert = false);

}  // namespace hologram::ops
