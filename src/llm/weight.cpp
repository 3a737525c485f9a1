#include "llm/weight.hpp"

#include <algorithm>
#include <cstring>

#include "core/messages.hpp"
#include "core/parallel.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/ops.hpp"
#include "llm/block_works.hpp"
#include "tensor/access.hpp"

namespace hologram::llm {
namespace {

// Rows of x from which on it costs less to decode a matrix once, into memory, than on the way.
constexpr int64_t kManyRows = 16;

BlockMatrix matrix_of(const Weight& w) { return {w.type, w.rows, w.columns, w.count}; }

// The words of one block, of which the last may be of fewer bytes.
void words_of(const BlockType& type, const std::byte* block, uint32_t* words) {
  words[type.words() - 1] = 0;
  std::memcpy(words, block, type.bytes);
}

int64_t tiles_of(int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// One matrix, from rows of blocks to tiles.
void interleave(const BlockType& type, const std::byte* from, int64_t rows, int64_t blocks,
                uint32_t* to, core::Threads& threads) {
  constexpr uint32_t kMostWords = 64;
  const int64_t words = type.words(), row_bytes = blocks * type.bytes, tile_rows = kTileRows;
  threads.run(static_cast<uint64_t>(tiles_of(rows)), 1, [&](uint64_t first, uint64_t last) {
    uint32_t block[kMostWords];
    for (uint64_t t = first; t < last; t++) {
      const int64_t begin = static_cast<int64_t>(t) * tile_rows;
      uint32_t* const tile = to + begin * blocks * words;
      for (int64_t b = 0; b < blocks; b++)
        for (int64_t r = begin; r < std::min(begin + tile_rows, rows); r++) {
          words_of(type, from + r * row_bytes + b * type.bytes, block);
          for (int64_t w = 0; w < words; w++)
            tile[(b * words + w) * tile_rows + r - begin] = block[w];
        }
    }
  });
}

Tensor by_blocks(const Tensor& x, const Weight& w, const Tensor* which) {
  const int64_t m = x.size(0);
  if (which != nullptr)
    return tensor::make_opaque(block_choice_work(matrix_of(w), m), DType::F32, {m, w.rows},
                               tensor::dense(x), w.data, tensor::dense(*which));
  return tensor::make_opaque(block_product_work(matrix_of(w), m), DType::F32, {m, w.rows},
                             tensor::dense(x), w.data);
}

}  // namespace

Weight weight_of(const BlockType& type, std::span<const std::byte> rows, int64_t columns,
                 int64_t count, const Executor& executor) {
  const int64_t blocks = columns / type.elements, words = type.words();
  const int64_t all = static_cast<int64_t>(rows.size()) / std::max<int64_t>(1, blocks * type.bytes);
  Weight weight{&type, all / count, columns, count, {}};
  const int64_t tiles = tiles_of(weight.rows);
  Array data(DType::U32, {count, tiles, blocks, words, kTileRows});
  uint32_t* const to = data.mutable_as<uint32_t>().data();
  core::Threads threads(executor.config().num_threads);
  for (int64_t i = 0; i < count; i++)
    interleave(type, rows.data() + i * weight.rows * blocks * type.bytes, weight.rows, blocks,
               to + i * tiles * blocks * words * kTileRows, threads);
  weight.data = Tensor::from(data, executor);
  return weight;
}

Weight weight_of(const Array& rows, const Executor& executor) {
  return {nullptr, rows.shape()[0], rows.shape()[1], 1, Tensor::from(rows, executor)};
}

Tensor product(const Tensor& x, const Weight& weight) {
  const int64_t m = x.size(0);
  if (weight.type == nullptr) {
    if (m != 1) return nn::linear(x, weight.data);
    // A matrix times a vector: its rows are read once, and converted on the way.
    return ops::matmul(weight.data, x.reshape({weight.columns})).reshape({1, weight.rows});
  }
  if (m < kManyRows) return by_blocks(x, weight, nullptr);
  return ops::matmul(x, decoded(weight));
}

Tensor product(const Tensor& x, const Weight& weight, const Tensor& which) {
  return by_blocks(x, weight, &which);
}

Tensor decoded(const Weight& weight) {
  if (weight.type == nullptr) return weight.data.to(DType::F32).transpose();
  return tensor::make_opaque(block_decode_work(matrix_of(weight)), DType::F32,
                             {weight.columns, weight.rows}, weight.data);
}

}  // namespace hologram::llm
