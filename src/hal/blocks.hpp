// Products of numbers in blocks, for libraries.
#pragma once

#include <cstdint>
#include <string_view>

namespace hologram::hal {

// Rows of f32 as bytes, by blocks of 32 elements: what docs/adr/0009-byte-activations.md says. d
// has kWords words for each block: its bytes, four to a word; its scale, and that times the sum of
// its bytes, f32; the sums of its first and of its last sixteen bytes, i32.
struct BytesDesc {
  static constexpr int64_t kBlock = 32, kWords = 12;
  static constexpr int64_t kScale = 8, kScaledSum = 9, kFirstSum = 10, kSecondSum = 11;
  int64_t rows = 0, length = 0;
  friend bool operator==(const BytesDesc&, const BytesDesc&) = default;
};

// Such rows times the transpose of a matrix in blocks, [rows, columns], which lies as
// libraries/blocks/layout.hpp says: d is f32 [m, rows]. With a choice, row i of x uses matrix
// which[i] of so many; a number that is none of them reads zeros.
struct BlocksDesc {
  std::string_view type;  // of the blocks, as GGUF calls it
  int64_t m = 0, rows = 0, columns = 0, count = 1;
  bool chosen = false;
  friend bool operator==(const BlocksDesc&, const BlocksDesc&) = default;
};

}  // namespace hologram::hal
