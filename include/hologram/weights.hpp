// The weights of a language model as plain tensors: what fine-tuning begins with.
//
//   const llm::Weights weights = llm::Weights::open("SmolLM2-135M-Instruct.Q4_1.gguf");
//   Tensor q = weights.read("blk.0.attn_q.weight");   // f32 [heads * key_length, width]
//
// Names are those of GGUF, for folders, too. Rows of queries and keys have the two halves of a head
// one behind the other, as transformers has them, whatever the file has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::llm {

// What a decoder computes with its weights.
struct DecoderShape {
  std::string architecture;
  int64_t layers = 0, width = 0, feed_forward = 0, vocabulary = 0, context = 0;
  int64_t heads = 0, key_heads = 0, key_length = 0, value_length = 0;
  int64_t rotated = 0;           // elements of a head that positions turn
  std::vector<int64_t> windows;  // by layer: how many positions are seen; 0: all before
  double epsilon = 0;            // of norms
  double score_scale = 0;        // of scores of attention
  double attention_softcap = 0, final_softcap = 0;  // 0: none
  double embedding_scale = 1;
  bool gelu = false;  // by tanh, where others have SiLU
};

class HOLOGRAM_API Weights {
 public:
  // IoError for files that are damaged, UnsupportedOperation for what they ask for and is not
  // there: no experts, no joined matrices.
  static Weights open(const std::string& path);

  const DecoderShape& shape() const;
  bool has(const std::string& name) const;
  // Decoded, f32: matrices [outputs, inputs], others [length]. IoError for a name that is not
  // there.
  Tensor read(const std::string& name, const Executor& executor = default_executor()) const;
  // Cosines and sines of positions, f32 [length, rotated / 2] each; `local`: of layers with a
  // window.
  std::pair<Tensor, Tensor> rotary(int64_t length, bool local,
                                   const Executor& executor = default_executor()) const;

 private:
  struct State;
  explicit Weights(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace hologram::llm
