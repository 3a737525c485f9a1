// LoRA: what a fine-tuning adds to matrices, as products of two thin ones.
#pragma once

#include <memory>
#include <vector>

#include "hologram/llm.hpp"
#include "llm/source.hpp"

namespace hologram::llm {

// The source with those tensors beside, NAME.lora_a [rank, inputs] and NAME.lora_b [outputs, rank],
// with all scales in the latter. The source itself without adapters. IoError, UnsupportedOperation.
std::shared_ptr<const Source> adapted(std::shared_ptr<const Source> source,
                                      const std::vector<Adapter>& adapters);

}  // namespace hologram::llm
