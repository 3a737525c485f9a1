// Axes and parts of tensors in another order, and tensors out of parts.
#pragma once

#include "hologram/movement.hpp"

namespace hologram::ops {

// The axes `from` at the places `to`; the others keep their order. A view.
HOLOGRAM_API Tensor moveaxis(const Tensor& x, std::vector<int> from, std::vector<int> to);
// Two axes exchanged. A view.
HOLOGRAM_API Tensor swapaxes(const Tensor& x, int a, int b);
// Turned by so many quarters, from axis `a` towards axis `b`; negative ones turn back.
HOLOGRAM_API Tensor rot90(const Tensor& x, int64_t quarters = 1, int a = 0, int b = 1);

// Parts of ceil(length / parts) elements, the last of which may be shorter, so that there may be
// fewer: as PyTorch's chunk. `split` makes exactly so many, as NumPy's array_split. Views.
HOLOGRAM_API std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int axis = 0);
// The elements of an axis, which goes. Views.
HOLOGRAM_API std::vector<Tensor> unstack(const Tensor& x, int axis = 0);
// Side by side: vectors one behind the other, all else along axis 1; and one below the other:
// vectors as rows. Numbers are vectors of one element.
HOLOGRAM_API Tensor hstack(const std::vector<Tensor>& tensors);
HOLOGRAM_API Tensor vstack(const std::vector<Tensor>& tensors);

// The coordinates of a grid, one tensor for each vector (a number is a vector of one element):
// result k has the values of vector k along axis k (Indexing::IJ); or those of the first two along
// each other's axis (Indexing::XY, as of an image: columns first). Views.
enum class Indexing { XY, IJ };
HOLOGRAM_API std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                                          Indexing indexing = Indexing::XY);

// What stands around x, along each axis, as NumPy calls it: elements mirrored at the last one
// (Reflect: 3 2 | 1 2 3) or behind it (Symmetric: 2 1 | 1 2 3), the last one (Edge; PyTorch's
// replicate), or those of the other end (Wrap; PyTorch's circular). A padding may be longer than
// the axis, which goes on then. InvalidArgument for padding around an axis of length 0.
enum class PadMode { Reflect, Symmetric, Edge, Wrap };
HOLOGRAM_API Tensor pad(const Tensor& x, const std::vector<Padding>& padding, PadMode mode);

// Each element as often as `counts` says: integers, one an element of the axis or one for all.
// Without an axis, of x flattened. Computes `counts`, as the result's shape depends on them;
// InvalidArgument for one below 0.
HOLOGRAM_API Tensor repeat(const Tensor& x, const Tensor& counts, std::optional<int> axis = {});

}  // namespace hologram::ops
