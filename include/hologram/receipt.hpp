// What a model answered, so that somebody else can compute it again and compare.
//
//   llm::Receipt receipt = llm::make_receipt("model.gguf", tokens, {.greedy = true}, 64);
//   llm::Verification seen = llm::verify(receipt, "the/same/model.gguf");
//   seen.equal();   // or seen.text(): "64 of 64 tokens, logits identical"
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hologram/llm.hpp"

namespace hologram::llm {

// Digests are SHA-256, in hexadecimal digits.
struct Receipt {
  std::string model;                                        // of all that follow
  std::vector<std::pair<std::string, std::string>> layers;  // "blk.0", …; "model" is the rest
  std::string device;                                       // that made it
  std::string text;                                         // of the answer
  int64_t context = 0;
  DType cache = DType::F16;
  Activations activations = Activations::Exact;
  // Whether it was made under Config::reproducible, as receipts are: with the same logits, to the
  // bit, on all exact devices.
  bool reproducible = false;
  Sampling sampling = {};
  int64_t max_tokens = 0;
  std::vector<int32_t> prompt, tokens;
  std::string prompt_digest, tokens_digest;
  std::vector<std::string> logits;  // of each step, in the bytes of f32

  HOLOGRAM_API std::string to_json() const;
  // IoError if it is none.
  HOLOGRAM_API static Receipt from_json(const std::string& json);
};

// The answer to a prompt of tokens, and what is needed to compute it again. Adapters of the options
// are an UnsupportedOperation. It is computed as under Config::reproducible, which may take longer.
HOLOGRAM_API Receipt make_receipt(const std::string& path, std::span<const int32_t> prompt,
                                  const Sampling& sampling, int64_t max_tokens,
                                  const ModelOptions& options = {},
                                  const Executor& executor = default_executor());

struct Verification {
  std::vector<std::string> changed_layers;     // whose weights are others than the receipt's
  int64_t steps = 0;                           // of the receipt
  int64_t equal_tokens = 0, equal_logits = 0;  // from the first step on
  bool equal() const {
    return changed_layers.empty() && equal_tokens == steps && equal_logits == steps;
  }
  HOLOGRAM_API std::string text() const;
};

// Computes the receipt's answer again, on this device, in the way in which it was made. Where
// weights are others nothing is computed: the layers are named.
HOLOGRAM_API Verification verify(const Receipt& receipt, const std::string& path,
                                 const Executor& executor = default_executor());

}  // namespace hologram::llm
