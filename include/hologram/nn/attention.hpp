// Attention.
#pragma once

#include <optional>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// Keys that a query may see: from its own position - before to its position + after.
struct AttentionWindow {
  std::optional<int64_t> before = {}, after = {};
};

struct AttentionOptions {
  // Repeated to [..., heads, queries, keys]: a bool (true: may be seen), or numbers that are added.
  std::optional<Tensor> mask = {};
  double dropout_p = 0;              // of the weights
  bool is_causal = false;            // a query sees no key after its own position
  std::optional<double> scale = {};  // 1 / sqrt(features), unless given
  bool enable_gqa = false;  // fewer key heads than query heads, each for as many of them in turn
  double softcap = 0;       // scores become softcap * tanh(score / softcap); 0: they stay
  std::optional<AttentionWindow> window = {};
  // The position of the first query among the keys, for is_causal and window: with a cache of keys,
  // keys - queries.
  int64_t query_offset = 0;
  // An integer, [] or [1], that is added to it when the result is computed: a captured step of a
  // decoder counts there.
  std::optional<Tensor> query_position = {};
  std::optional<Tensor> sinks = {};  // [heads]: one more score a head, which nothing is attached to
};

// softmax(scale * query @ key.T + mask) @ value of query [..., heads, queries, features], key
// [..., key heads, keys, features] and value [..., key heads, keys, value features]; the heads may
// be missing. The softmax is computed in f32 (f64 in f64). A query that may see no key gives zeros.
//
// No scores are kept: a program goes along the keys, but for those that is_causal and window hide
// from a block of queries, and gradients compute scores again. On the processor it is products of
// matrices, 4 MiB of scores at a time; up to 32 MiB of them stay for gradients. All scores are in
// memory with dropout_p, and for gradients of gradients and of a mask.
// ShapeMismatch, DTypeMismatch, InvalidArgument.
HOLOGRAM_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                                 const Tensor& value,
                                                 const AttentionOptions& options = {});

// For those who compute a result and, elsewhere, its gradients, as graphs do that are captured
// apart: the result, and in `kept`, a vector of the result's dtype, what the gradients need of it.
// InvalidArgument with dropout_p.
struct KeptAttention {
  Tensor result, kept;
};
HOLOGRAM_API KeptAttention attention_with_kept(const Tensor& query, const Tensor& key,
                                               const Tensor& value,
                                               const AttentionOptions& options = {});

// How query, key and value change, in this order, where the result changes so; a mask is taken for
// constant. Their axes before the heads are the same. `kept` may be a vector of no elements: then
// scores are computed again by products, which is the faster way on the processor.
HOLOGRAM_API std::vector<Tensor> attention_changes(const Tensor& query, const Tensor& key,
                                                   const Tensor& value, const Tensor& result,
                                                   const Tensor& kept, const Tensor& change,
                                                   const AttentionOptions& options = {});

// The weights themselves, [..., heads, queries, keys].
HOLOGRAM_API Tensor attention_weights(const Tensor& query, const Tensor& key,
                                      const AttentionOptions& options = {});

}  // namespace hologram::nn
