// A decoder-only transformer on a device: one forward pass for all architectures of config.hpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hologram/graph.hpp"
#include "hologram/llm.hpp"
#include "llm/source.hpp"
#include "llm/weight.hpp"

namespace hologram::llm {

// Those of a model that was not told.
Activations usual_activations(const Executor& executor);

struct Linear {
  Weight weight;
  Tensor bias;                // or none
  Tensor lora_down, lora_up;  // [rank, inputs] and [outputs, rank], of an adapter, or none
};
// What the layer makes of x; added to `onto`, if it is there.
Tensor apply(const Linear& linear, const Factor& x, const Tensor* onto = nullptr);

struct Layer {
  Tensor attention_norm, feed_norm;
  Tensor attention_post_norm, feed_post_norm;  // or none
  Tensor query_norm, key_norm;                 // or none
  std::vector<Linear> inputs;                  // queries, keys, values, as few as share a type
  Linear output;
  std::vector<Linear> ups;  // gate and up
  Linear down;
  Weight router;  // of experts, or none
  AttentionShape attention;
  bool local = false;
};

// The memory of keys and values: pages that all sequences share.
struct CacheShape {
  int64_t capacity = 0;   // the most tokens of a sequence
  int64_t sequences = 1;  // at a time; 0: none, for `states` alone
  int64_t pages = 0;      // of all together
  DType dtype = DType::F16;

  int64_t pages_of_sequence() const { return pages_for(capacity); }
  static int64_t pages_for(int64_t tokens) { return (tokens + kPage - 1) / kPage; }
};

// A token of a step, and where it belongs: its sequence has all before it.
struct Row {
  int32_t token = 0, sequence = 0, position = 0;
};

class Decoder {
 public:
  // Reads the weights.
  Decoder(std::shared_ptr<const Source> source, const CacheShape& cache, const Executor& executor,
          Activations activations = Activations::Exact);

  const Config& config() const { return source_->config(); }
  const CacheShape& cache() const { return cache_; }
  const Executor& executor() const { return executor_; }
  Activations activations() const { return activations_; }
  int64_t capacity() const { return cache_.capacity; }
  // Rows of one step at most, where they are captured.
  static constexpr int64_t kMostCaptured = 16;
  // Rows of a prompt that go through the layers at a time.
  int64_t chunk() const;

  // Pages that hold the positions of a sequence, from the first on, and whether it is_long.
  void set_pages(int64_t sequence, std::span<const int32_t> pages, bool is_long = false);

  // One step; the logits of all rows, or of the last one, f32 [rows, vocabulary]. Rows of one
  // sequence have neighbouring positions. Up to kMostCaptured rows with all logits are a captured
  // graph for each power of two from `least` on, filled up with rows that belong to nobody.
  std::vector<float> forward(std::span<const Row> rows, bool all, size_t least = 1);
  // The same, without waiting for the device; may have more rows behind those.
  Tensor start(std::span<const Row> rows, bool all, size_t least = 1);
  // InvalidArgument for what no model takes.
  void require_tokens(std::span<const int32_t> tokens) const;
  // Memory of keys and values for `states`, f32, for a text as long as the capacity.
  std::vector<Cache> text_memory() const;
  // The states that the logits would be made of, f32 [tokens, width], of a text that no sequence
  // knows of. Threads may call it at a time, beside `forward`, each with its own memory.
  Tensor states(std::span<const int32_t> tokens, const std::vector<Cache>& memory) const;

 private:
  Tensor captured(std::span<const Row> rows, size_t least);
  Tensor places(std::span<const Row> rows, std::span<const int32_t> table) const;
  Tensor embed(std::span<const Row> rows) const;
  Tensor layers(const Tensor& tokens, const Tensor& places, const std::vector<Cache>& caches,
                const std::optional<PromptPart>& part) const;
  Tensor attend(const Layer& layer, const Cache& cache, const Tensor& x, const Tensor& places,
                const std::optional<PromptPart>& part) const;
  std::optional<PromptPart> prompt_part(std::span<const Row> rows) const;
  Factor feed(const Layer& layer, const Tensor& x) const;
  Tensor experts(const Layer& layer, const Tensor& x) const;
  Tensor head(const Tensor& x) const;
  void check(std::span<const int32_t> tokens, int64_t position) const;
  int32_t first_angle(bool is_long) const;
  Tensor norm(const Tensor& x, const Tensor& weight) const;

  std::shared_ptr<const Source> source_;
  Executor executor_;
  CacheShape cache_;
  Activations activations_;
  const bool takes_parts_;      // attention of prompts is that of tensors
  const bool fills_parts_;      // to one of few lengths
  std::vector<int32_t> table_;  // [sequences, pages of a sequence and the row of its first angle]
  Stored embedding_;
  std::vector<Layer> layers_;
  std::vector<Cache> caches_;
  Rope global_, local_;
  Tensor output_norm_;
  Linear output_;
  std::map<int64_t, Graph> steps_;  // by their rows
};

}  // namespace hologram::llm
