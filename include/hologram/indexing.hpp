// Elements chosen by tensors of indices, several axes at once.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// One entry an axis, from the first; nothing, as for axes without an entry, takes all of it.
// Tensors of integers are repeated to one shape: result[i, j] = x[a[i, j], b[i, j]]. A tensor of
// bools stands for as many axes as it has, whose lengths it must have, and for the places at which
// it is true; those are computed, as the result's shape depends on them. The axes of the indices
// stand where the first indexed axis stood if those are neighbours, else in front: as NumPy and
// PyTorch have it. Negative indices count from the end; InvalidArgument, when the value is
// computed, for one outside.
using Indices = std::vector<std::optional<Tensor>>;
HOLOGRAM_API Tensor index(const Tensor& x, const Indices& indices);
// x with `values`, repeated to the shape of index(x, indices), put there: of several for one place
// the last stays. Or added, one after the other, if `accumulate`.
HOLOGRAM_API Tensor index_put(const Tensor& x, const Indices& indices, const Operand& values,
                              bool accumulate = false);

}  // namespace hologram::ops
