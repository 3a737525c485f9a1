// Whether tensors agree.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// |a - b| <= absolute + relative * |b|, element by element; of infinities, whether they are equal.
// NaN is close to NaN only if `equal_nan`. Integers are subtracted exactly and compared in f32.
HOLOGRAM_API Tensor isclose(const Operand& a, const Operand& b, double relative = 1e-5,
                            double absolute = 1e-8, bool equal_nan = false);
// Whether that holds for all elements; operands are repeated to one shape.
HOLOGRAM_API Tensor allclose(const Operand& a, const Operand& b, double relative = 1e-5,
                             double absolute = 1e-8, bool equal_nan = false);
// Whether shapes and all elements are equal; operands of different shapes are no error.
HOLOGRAM_API Tensor array_equal(const Tensor& a, const Tensor& b, bool equal_nan = false);

// x with numbers in place of NaN and infinities, by default 0 and the largest and least finite
// numbers of its dtype.
HOLOGRAM_API Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> infinity = {},
                               std::optional<double> minus_infinity = {});

// The number of the operands' dtype, a float's, that is next to a in the direction of b; b itself
// where they are equal. DTypeMismatch for integers and bool.
HOLOGRAM_API Tensor nextafter(const Tensor& a, const Tensor& b);

}  // namespace hologram::ops
