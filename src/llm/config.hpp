// What a model is made of: read from its file, and told apart by a table of architectures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/attention.hpp"

namespace hologram::llm {

enum class Activation : uint8_t { Silu, GeluTanh };

// What the layers of an architecture have that others have not. What can be told by whether a
// tensor is there (biases, norms of queries and keys, norms behind a part, joined matrices,
// experts) is not in here.
struct Architecture {
  std::string_view name;     // in GGUF
  std::string_view hugging;  // the class in a config.json
  RopeKind rope;             // of matrices as GGUF has them
  Activation activation;
  bool scaled_embedding;  // by the root of the width
  int window_period;      // layers of which the last sees all positions; 0: the window is
                          // that of all layers, if there is one
  bool norms_plus_one;    // the norms' weights are stored less 1 in safetensors
};
const Architecture* architecture(std::string_view name);
const Architecture* architecture_of_class(std::string_view hugging);
std::string architecture_names();

// How angles grow with positions beyond what a model was first trained for.
struct RopeScaling {
  enum class Kind : uint8_t { None, Linear, Yarn, Llama3, Long } kind = Kind::None;
  double factor = 1;
  double original_context = 0;
  double beta_fast = 32, beta_slow = 1;          // yarn
  double low_frequency = 1, high_frequency = 4;  // llama3
  double attention_factor = 0;                   // of cosines and sines; 0: by the kind's rule
  std::vector<float> factors, long_factors;      // by which frequencies are divided
};

struct Config {
  const Architecture* architecture = nullptr;
  int64_t layers = 0, width = 0, feed_forward = 0, vocabulary = 0, context = 0;
  int64_t heads = 0, key_heads = 0, key_length = 0, value_length = 0, rotated = 0;
  int64_t window = 0;
  int64_t experts = 0, experts_used = 0;
  bool renormalised = true;  // the shares of the experts that are used are made to add up to 1
  double epsilon = 1e-5, rope_base = 10000, local_rope_base = 0;  // 0: the same
  double query_scale = 0;                                         // 0: 1 / sqrt(key_length)
  double attention_softcap = 0, final_softcap = 0;
  RopeKind rope = RopeKind::Halves;
  RopeScaling scaling;

  bool sees_all(int64_t layer) const;  // whether a layer has no window
  // Whether a text of this length is turned by other angles than a short one, from its beginning
  // on.
  bool is_long(int64_t length) const;
  AttentionShape attention(int64_t layer) const;
};

// By which Llama 3's scaling divides frequencies.
std::vector<float> llama3_factors(const Config& config);

// Cosines and sines of all positions below `capacity`, of layers that see all positions or not. If
// a text of that length is_long, those of texts that are not stand behind them, from row `capacity`
// on.
Rope make_rope(const Config& config, bool local, int64_t capacity, const Executor& executor);

}  // namespace hologram::llm
