// The tensors of a folder, in one safetensors file or in several with an index.
#pragma once

#include <functional>
#include <string>

#include "hologram/files.hpp"

namespace hologram::llm {

// Calls `take` for each tensor of FOLDER/STEM.safetensors, or of the files that
// FOLDER/STEM.safetensors.index.json names. IoError if these are damaged or missing.
void for_each_member(
    const std::string& folder, const std::string& stem,
    const std::function<void(const std::string& file, const files::Member&)>& take);

}  // namespace hologram::llm
