// Attention over a cache of keys and values on the device, which grows in place.
#pragma once

#include <cstdint>
#include <optional>

#include "hologram/tensor.hpp"

namespace hologram::llm {

// Which elements of a head turn together: neighbours, or those of the first and second half.
enum class RopeKind : uint8_t { None, Neighbours, Halves };

struct AttentionShape {
  int64_t heads = 0, key_heads = 0, key_length = 0, value_length = 0;
  int64_t rotated = 0;  // the first elements of a head that turn
  RopeKind rope = RopeKind::None;
  float scale = 1;     // of the scores
  float softcap = 0;   // scores become softcap tanh(score / softcap); 0: they stay
  int64_t window = 0;  // the last positions that are seen; 0: all
};

// Cosines and sines by position, f32 [capacity, rotated / 2]; or of two kinds of text, one behind
// the other.
struct Rope {
  Tensor cosines, sines;
};

// Positions of a page: the unit in which sequences take memory of a cache.
inline constexpr int64_t kPage = 64;

// Keys [pages, key heads, length, kPage], so that neighbouring positions lie side by side, and
// values [pages, key heads, kPage, length]; f32 or f16. Nobody but `attention` looks at them.
struct Cache {
  Tensor keys, values;
};
Cache make_cache(const AttentionShape& shape, int64_t pages, DType dtype, const Executor& executor);

// Tokens of one sequence, one behind the other: what they see is read out of the cache's pages, and
// goes through nn::scaled_dot_product_attention, for which libraries have programs.
struct PromptPart {
  int64_t first = 0, count = 0;  // positions; rows behind them only fill up the step
  int64_t keys = 0;              // that are read: at least those that are seen
  DType dtype = DType::F32;      // of the products: f32, or f16
};

// Where the tokens of a step belong: i32, first the m positions, then the m sequences, then a row
// for each sequence with the pages that its positions lie in, capacity / kPage of them, and the
// row of its first position in the rope.
//
// The attention of m tokens: queries f32 [m, heads * key_length], keys and values of the key heads
// likewise; f32 [m, heads * value_length]. Tokens of one sequence have neighbouring positions.
// Queries and keys are turned; keys and values are put into the cache's memory, which is what makes
// it no function of its inputs: a later call sees them, and the result must be computed before what
// follows. `capacity`: the most positions of a sequence, whole pages. `part`: the tokens are one.
Tensor attention(const AttentionShape& shape, const Tensor& queries, const Tensor& keys,
                 const Tensor& values, const Rope& rope, const Cache& cache, const Tensor& places,
                 int64_t capacity, const std::optional<PromptPart>& part = {});

}  // namespace hologram::llm
