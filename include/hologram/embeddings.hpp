// Texts as vectors, by an encoder such as BERT or by a language model, on any device.
//
//   llm::Embedder embedder = llm::Embedder::open("all-MiniLM-L6-v2");
//   Tensor vectors = embedder.embed({"a cat", "a small dog"});   // f32 [2, 384]
//
// The file is GGUF, or a folder with config.json, a tokenizer and safetensors, as those of
// llm::Model. docs/llm.md lists architectures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/llm.hpp"
#include "hologram/tensor.hpp"

namespace hologram::llm {

// How the vectors of a text's tokens become one.
enum class Pooling : uint8_t { Mean, First, Last };
HOLOGRAM_API std::string_view name_of(Pooling pooling);

struct EmbedOptions {
  std::optional<Pooling> pooling = {};  // else as the model's files say
  bool normalize = true;                // to the length 1
  bool truncate = false;                // texts beyond the context lose their end; else an error
};

class HOLOGRAM_API Embedder {
 public:
  // Encoders, and the decoders that Model::open takes. IoError for files that are damaged,
  // UnsupportedOperation for what they ask for and is not there.
  static Embedder open(const std::string& path, const Executor& executor = default_executor());
  // By a model that is loaded, whose weights it shares. It takes memory for keys and values of its
  // own, f32, for a context; answers go on beside it.
  static Embedder of(const Model& model);
  // Whether a file is an encoder's, which makes vectors and no text. IoError.
  static bool is_encoder(const std::string& path);

  std::string architecture() const;
  int64_t width() const;       // of a vector
  int64_t context() const;     // the most tokens of a text
  int64_t vocabulary() const;  // the number of tokens
  Pooling pooling() const;     // as the model's files say

  // With the tokens that the model wants at both ends, unless `ends` is false. `special`: text that
  // spells a control token is that token.
  std::vector<int32_t> tokenize(std::string_view text, bool ends = true,
                                bool special = false) const;

  // A row for each text, f32 [texts, width]. Texts of similar length are computed side by side.
  // InvalidArgument for a text beyond the context, unless it may be truncated.
  Tensor embed(std::span<const std::string> texts, const EmbedOptions& options = {}) const;
  Tensor embed(const std::vector<std::string>& texts, const EmbedOptions& options = {}) const {
    return embed(std::span<const std::string>(texts), options);
  }
  // The same for tokens, each of which is taken as it is.
  Tensor embed_tokens(std::span<const std::vector<int32_t>> texts,
                      const EmbedOptions& options = {}) const;

 private:
  struct State;
  explicit Embedder(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace hologram::llm
