// Matrices of a model as they stay on the device: numbers in blocks are decoded where they are
// used.
#pragma once

#include <cstdint>
#include <span>

#include "hologram/tensor.hpp"
#include "llm/block_types.hpp"

namespace hologram::llm {

// [rows, columns], outputs by inputs; or so many of them, of which each token uses some.
//
// Numbers in blocks: u32 [count, tiles of rows, blocks of a row, words of a block, rows of a tile],
// so that lanes that do neighbouring rows read neighbouring words, and a tile is one stream of
// memory. The last tile is filled up with zeros. Others: [rows, columns] of their dtype.
struct Weight {
  const BlockType* type = nullptr;
  int64_t rows = 0, columns = 0, count = 1;
  Tensor data;

  bool defined() const { return data.defined(); }
  int64_t blocks() const { return columns / type->elements; }
};

// From rows in blocks, one behind the other; their number is that of the bytes.
Weight weight_of(const BlockType& type, std::span<const std::byte> rows, int64_t columns,
                 int64_t count, const Executor& executor);
// From an array of floats [rows, columns].
Weight weight_of(const Array& rows, const Executor& executor);

// x [m, columns], f32, times the transposed weight: f32 [m, rows].
Tensor product(const Tensor& x, const Weight& weight);
// The same where row i of x uses matrix which[i], i32 [m].
Tensor product(const Tensor& x, const Weight& weight, const Tensor& which);
// All numbers of a matrix, f32 [columns, rows].
Tensor decoded(const Weight& weight);

}  // namespace hologram::llm
