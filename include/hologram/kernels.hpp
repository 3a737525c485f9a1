// The programs behind tensors.
#pragma once

#include <vector>

#include "hologram/program.hpp"
#include "hologram/tensor.hpp"

namespace hologram {

// The Atlas programs that evaluating the tensors would launch for fused kernels, in order. Steps
// that are no fused kernel, as products and sorts, have none here; explain() shows them. Nothing is
// computed. The tensors must be of one executor.
HOLOGRAM_API std::vector<program::Program> kernels_of(const std::vector<Tensor>& tensors);

}  // namespace hologram
