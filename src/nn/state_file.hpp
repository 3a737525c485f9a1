// Tensors by name as a .safetensors file.
#pragma once

#include <map>
#include <string>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// The file appears as a whole or not at all. InvalidArgument for another extension; IoError.
void save_state(const std::string& path, const std::map<std::string, Tensor>& state);
std::map<std::string, Tensor> load_state(const std::string& path);

}  // namespace hologram::nn
