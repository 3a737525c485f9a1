// How much memory the inference of a language model takes, before anything is loaded.
#pragma once

#include <cstdint>

#include "hologram/export.hpp"

namespace hologram {

// Bytes.
struct MemoryEstimate {
  uint64_t weights = 0;
  uint64_t kv_cache = 0;     // keys and values of max_seq tokens
  uint64_t activations = 0;  // of one token
  uint64_t total = 0;
};

// A decoder of the usual make: attention with `heads` heads of hidden / heads elements, `kv_heads`
// of them with keys and values of their own; a gated feed-forward part with three matrices of
// hidden x intermediate; two norms a layer and one at the end; an embedding and an output matrix of
// vocab x hidden. One sequence of max_seq tokens; every number takes dtype_bytes (1, 2, 4 or 8).
//
//   layer       = 2 hidden^2 + 2 hidden kv_heads hidden / heads + 3 hidden intermediate + 2 hidden
//   weights     = (layers layer + 2 vocab hidden + hidden) dtype_bytes
//   kv_cache    = 2 layers max_seq kv_heads hidden / heads dtype_bytes
//   activations = 2 (hidden + 2 intermediate) dtype_bytes
//
// InvalidArgument for numbers that describe no model, and if the result does not fit 64 bits.
HOLOGRAM_API MemoryEstimate estimate_inference_memory(int64_t hidden, int64_t intermediate,
                                                      int64_t layers, int64_t vocab, int64_t heads,
                                                      int64_t kv_heads, int64_t max_seq,
                                                      int64_t dtype_bytes);

}  // namespace hologram
