// The Atlas programs behind weight.hpp, as works of the graph.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"
#include "llm/block_types.hpp"

namespace hologram::llm {

inline constexpr uint32_t kTileRows = libraries::blocks::kTileRows;

// What a matrix in blocks looks like, one of several of the same.
struct BlockMatrix {
  const BlockType* type;
  int64_t rows, columns, count;
};

// Input: x f32 [rows, length]. The node is u32 [rows, blocks, words of one], as hal::BytesDesc
// says.
std::unique_ptr<const graph::OpaqueOp> bytes_op(int64_t rows, int64_t length);
// The same of silu(gate) * up by one program. Inputs: gate and up f32 [rows, length], each of whose
// rows lies in one piece.
std::unique_ptr<const graph::OpaqueOp> gated_bytes_op(int64_t rows, int64_t length);
// Inputs: x f32 [m, columns], or rounded to bytes, the words, and perhaps what the product is added
// to, f32 [m, rows], by a program. The node is f32 [m, rows].
std::unique_ptr<const graph::OpaqueOp> block_product_op(const BlockMatrix& matrix, int64_t m,
                                                        bool bytes = false, bool adds = false);
// A third input, i32 [m], says which of the matrices a row of x is multiplied by.
std::unique_ptr<const graph::OpaqueOp> block_choice_op(const BlockMatrix& matrix, int64_t m,
                                                       bool bytes = false);
// Input: the words of one matrix. The node is [columns, rows] of any float.
std::unique_ptr<const graph::OpaqueOp> block_decode_op(const BlockMatrix& matrix);

}  // namespace hologram::llm
