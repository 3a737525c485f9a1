// Operands that lie dense somewhere in the memory of their node.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::tensor {

// All of a node, in its order, whatever its shape.
bool is_whole(const Tensor& tensor);

// The same value, dense from an element on at which a binding of the device may begin.
Tensor dense_part(const Tensor& tensor);

}  // namespace hologram::tensor
