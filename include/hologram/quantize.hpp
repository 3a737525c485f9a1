// Models in fewer bits: a GGUF file or a folder of safetensors as a GGUF file.
//
//   llm::Quantized made = llm::quantize("SmolLM2-135M-Instruct", "smol.gguf", {.to = "q4_k"});
//
// docs/llm.md lists the types, and which tensors keep more bits than was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hologram/export.hpp"

namespace hologram::llm {

struct QuantizedTensor {
  std::string name, from, to;  // and types of numbers
  bool fell_back = false;      // its rows are no multiple of the blocks that it would have had
  uint64_t bytes_before = 0, bytes_after = 0;
  double error = 0;  // sqrt(sum of squares of what was lost / sum of squares)
};

struct QuantizeOptions {
  // f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs or
  // mxfp4; in capitals, too.
  std::string to = "q4_k";
  // Parts of names, and the type of tensors whose names have them: the first that fits counts.
  std::vector<std::pair<std::string, std::string>> tensors = {};
  int threads = 0;  // 0: as many as there are
  // Gets each tensor, its number and how many there are; false ends the work, with Cancelled.
  std::function<bool(const QuantizedTensor&, size_t, size_t)> on_tensor = {};
};

struct Quantized {
  std::vector<QuantizedTensor> tensors;
  uint64_t bytes_before = 0, bytes_after = 0;
  double error = 0;  // of all numbers of those tensors that were changed
};

// Writes `to_path` as a whole or not at all. IoError, UnsupportedOperation; InvalidArgument for a
// type that there is not.
HOLOGRAM_API Quantized quantize(const std::string& path, const std::string& to_path,
                                const QuantizeOptions& options = {});

}  // namespace hologram::llm
