// Matrices of a model as they stay on the device: numbers in blocks are decoded where they are
// used.
#pragma once

#include <cstdint>
#include <memory>
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
  bool by_bytes = false;   // what it is multiplied with is rounded to bytes first,
  bool by_halves = false;  // or many rows and it to bf16

  bool defined() const { return data.defined(); }
  int64_t blocks() const { return columns / type->elements; }
};

// Memory of the host for what matrices become: some of them share huge pages, which is read faster.
class Room {
 public:
  Array array(DType dtype, const Shape& shape);

 private:
  std::shared_ptr<std::byte> pages_;
  uint64_t size_ = 0, used_ = 0;
};

// From rows in blocks, one behind the other; their number is that of the bytes. Without `room`, in
// memory of its own.
Weight weight_of(const BlockType& type, std::span<const std::byte> rows, int64_t columns,
                 int64_t count, const Executor& executor, Room* room = nullptr);
// From an array of floats [rows, columns].
Weight weight_of(const Array& rows, const Executor& executor);

// What weights are multiplied with, f32 [m, columns]; rounded at most once.
class Factor {
 public:
  Factor(const Tensor& x) : x_(x) {}  // NOLINT(google-explicit-constructor): any tensor is one
  // silu(gate) * up, which on GPUs is made where it is rounded.
  static Factor gated(const Tensor& gate, const Tensor& up);
  const Tensor& exact() const { return x_; }
  const Tensor& bytes() const;
  const Tensor& halves() const;  // bf16

 private:
  Tensor x_;
  Tensor gate_, up_;  // which it is made of, if it is gated
  mutable Tensor bytes_, halves_;
};

// A factor [m, columns] times the transposed weight: f32 [m, rows]; added to `onto`, if it is
// there.
Tensor product(const Factor& factor, const Weight& weight, const Tensor* onto = nullptr);
// The same where row i uses matrix which[i], i32 [m].
Tensor chosen_product(const Factor& factor, const Weight& weight, const Tensor& which);
// All numbers of a matrix, [columns, rows].
Tensor decoded(const Weight& weight, DType dtype = DType::F32);

}  // namespace hologram::llm
