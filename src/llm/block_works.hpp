// The Atlas programs behind weight.hpp, as works of the graph.
#pragma once

#include <memory>

#include "graph/work.hpp"
#include "llm/block_types.hpp"

namespace hologram::llm {

// Rows whose words lie side by side: a line of a GPU's caches.
inline constexpr uint32_t kTileRows = 32;

// What a matrix in blocks looks like, one of several of the same.
struct BlockMatrix {
  const BlockType* type;
  int64_t rows, columns, count;
};

// Inputs: x f32 [m, columns] and the words. The node is f32 [m, rows].
std::unique_ptr<const graph::Work> block_product_work(const BlockMatrix& matrix, int64_t m);
// A third input, i32 [m], says which of the matrices a row of x is multiplied by.
std::unique_ptr<const graph::Work> block_choice_work(const BlockMatrix& matrix, int64_t m);
// Input: the words of one matrix. The node is f32 [columns, rows].
std::unique_ptr<const graph::Work> block_decode_work(const BlockMatrix& matrix);

}  // namespace hologram::llm
