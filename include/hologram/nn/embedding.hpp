// Rows by index, and positions put into vectors.
#pragma once

#include <optional>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// Rows of weight [rows, features] by integers of any shape: [..., features]. An index that is
// negative or too large is an InvalidArgument when the value is computed. `padding_idx`, which may
// count from the end, names a row that gets no gradient; the result is the same.
HOLOGRAM_API Tensor embedding(const Tensor& indices, const Tensor& weight,
                              std::optional<int64_t> padding_idx = {});

// i64 [..., classes]: 1 at each integer's place. Without a number of classes: one more than the
// largest integer, which is computed. An integer outside is an InvalidArgument when the value is.
HOLOGRAM_API Tensor one_hot(const Tensor& indices, int64_t num_classes = -1);

// Which features of rotary embeddings form a pair: i and i + dims / 2, as in GPT-NeoX and Hugging
// Face's Llama, or 2 i and 2 i + 1, as in the paper (Su et al., 2021), GPT-J and Meta's Llama.
enum class RopePairs : uint8_t { Halves, Interleaved };

struct RopeOptions {
  int64_t dims = 0;  // the first so many features turn, the others stay; 0: all
  double base = 10000;
  double scale = 1;    // of positions
  int64_t offset = 0;  // the position of the first row
  // Instead of offset, offset + 1, …: integers or floats that are repeated to x without its last
  // axis, as [length] or [batch, 1, length].
  std::optional<Tensor> positions = {};
  // Instead of base^(-2 i / dims): [dims / 2] radians a position.
  std::optional<Tensor> frequencies = {};
  RopePairs pairs = RopePairs::Halves;
};
// Rotary position embedding of x [..., length, features]: pair i of the row at position p turns by
// p * scale * base^(-2 i / dims). Angles are computed in f32, of f64 in f64, and their cosines and
// sines each time: where many tensors turn by the same ones, make those once, for apply_rope.
HOLOGRAM_API Tensor rope(const Tensor& x, const RopeOptions& options = {});
// The same by cosines and sines of the angles: [..., length, dims / 2], or [..., length, dims], of
// which each pair's first is used; repeated to x. Features beyond dims stay.
HOLOGRAM_API Tensor apply_rope(const Tensor& x, const Tensor& cos, const Tensor& sin,
                               RopePairs pairs = RopePairs::Halves);

}  // namespace hologram::nn
