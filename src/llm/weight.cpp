#include "llm/weight.hpp"

#include <algorithm>
#include <cstring>

#include "core/messages.hpp"
#include "core/pages.hpp"
#include "core/parallel.hpp"
#include "engine/context.hpp"
#include "fusion/layout.hpp"
#include "hologram/hal/operations.hpp"
#include "hologram/nn/activations.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/ops.hpp"
#include "llm/block_works.hpp"
#include "llm/programs.hpp"
#include "tensor/access.hpp"

namespace hologram::llm {
namespace {

// Rows of x up to which a matrix in blocks is decoded on the way. More are worth a decoded copy,
// which a captured step, of as many rows at most, would keep.
constexpr int64_t kFewRows = 16;

BlockMatrix matrix_of(const Weight& w) { return {w.type, w.rows, w.columns, w.count}; }

// The words of one block, with zeros where its layout has gaps.
void words_of(const BlockType& type, const std::byte* block, uint32_t* words) {
  words[type.words() - 1] = 0;
  if (type.gap() == 0) {
    std::memcpy(words, block, type.bytes);
    return;
  }
  words[type.header / 4] = 0;
  std::memcpy(words, block, type.header);
  std::memcpy(reinterpret_cast<std::byte*>(words) + type.place(type.header), block + type.header,
              type.bytes - type.header);
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

// As products with blocks take it.
Tensor factor_of(const Factor& x, const Weight& w) {
  return w.by_bytes ? x.bytes() : tensor::dense(x.exact());
}

Tensor by_blocks(const Factor& x, const Weight& w, const Tensor* onto) {
  const int64_t m = x.exact().size(0);
  const Tensor factor = factor_of(x, w);
  // Where lanes go at a time a launch less counts; where they do not, libraries have such products.
  const bool adds =
      onto != nullptr && !graph::hints_of(tensor::context_of(factor).device()).sequential_lanes;
  if (adds)
    return tensor::make_opaque(block_product_op(matrix_of(w), m, w.by_bytes, true), DType::F32,
                               {m, w.rows}, factor, w.data, tensor::dense(*onto));
  const Tensor y = tensor::make_opaque(block_product_op(matrix_of(w), m, w.by_bytes), DType::F32,
                                       {m, w.rows}, factor, w.data);
  return onto != nullptr ? *onto + y : y;
}

constexpr uint64_t kHugePage = uint64_t{2} << 20, kMostRoom = uint64_t{32} << 20, kLine = 256;

// Zeros in huge pages, which are taken when they are written to.
std::shared_ptr<std::byte> huge_pages(uint64_t bytes) {
  const uint64_t all = bytes + kHugePage;
  auto* const base = static_cast<std::byte*>(core::allocate_pages(static_cast<size_t>(all)));
  if (base == nullptr) throw core::error(core::Text::OutOfMemory, "the host", bytes, std::string());
  std::byte* const begin = base + (kHugePage - reinterpret_cast<uintptr_t>(base) % kHugePage);
  core::prefer_huge_pages(begin, static_cast<size_t>(bytes));
  return {begin, [base, all](std::byte*) { core::release_pages(base, static_cast<size_t>(all)); }};
}

}  // namespace

Array Room::array(DType dtype, const Shape& shape) {
  const uint64_t bytes = static_cast<uint64_t>(count_of(shape)) * size_of(dtype);
  if (bytes > kMostRoom / 2) {  // room of its own
    const auto pages = huge_pages(bytes);
    return Array::borrow(dtype, shape, static_cast<void*>(pages.get()), pages);
  }
  if (size_ - used_ < bytes) {
    // Small models need little.
    const uint64_t wanted = std::max(2 * size_, (4 * bytes + kHugePage) / kHugePage * kHugePage);
    size_ = std::min(wanted, kMostRoom);
    used_ = 0;
    pages_ = huge_pages(size_);
  }
  std::byte* const begin = pages_.get() + used_;
  used_ = std::min(size_, (used_ + bytes + kLine - 1) / kLine * kLine);
  return Array::borrow(dtype, shape, static_cast<void*>(begin), pages_);
}

Factor Factor::gated(const Tensor& gate, const Tensor& up) {
  Factor factor(nn::silu(gate) * up);
  if (graph::hints_of(tensor::context_of(gate).device()).is_gpu_like) {
    factor.gate_ = with_rows(gate);
    factor.up_ = with_rows(up);
  }
  return factor;
}

const Tensor& Factor::bytes() const {
  using Desc = hal::BytesDesc;
  if (bytes_.defined()) return bytes_;
  const int64_t m = x_.size(0), length = x_.size(1);
  const Shape shape = {m, length / Desc::kBlock, Desc::kWords};
  if (gate_.defined())
    bytes_ = tensor::make_opaque(gated_bytes_op(m, length), DType::U32, shape, gate_, up_);
  else bytes_ = tensor::make_opaque(bytes_op(m, length), DType::U32, shape, tensor::dense(x_));
  return bytes_;
}

const Tensor& Factor::halves() const {
  if (!halves_.defined()) halves_ = x_.to(DType::BF16);
  return halves_;
}

Weight weight_of(const BlockType& type, std::span<const std::byte> rows, int64_t columns,
                 int64_t count, const Executor& executor, Room* room) {
  const int64_t blocks = columns / type.elements, words = type.words();
  const int64_t all = static_cast<int64_t>(rows.size()) / std::max<int64_t>(1, blocks * type.bytes);
  Weight weight;
  weight.type = &type;
  weight.rows = all / count;
  weight.columns = columns;
  weight.count = count;
  const int64_t tiles = tiles_of(weight.rows);
  const Shape shape = {count, tiles, blocks, words, kTileRows};
  Array data = room == nullptr ? Array(DType::U32, shape) : room->array(DType::U32, shape);
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

namespace {

// Of plain numbers, or of many rows.
Tensor plain_product(const Factor& factor, const Weight& weight) {
  const Tensor& x = factor.exact();
  const int64_t m = x.size(0);
  if (weight.type == nullptr) {
    // A matrix times a vector: its rows are read once, and converted on the way.
    if (m == 1)
      return ops::matmul(weight.data, x.reshape({weight.columns})).reshape({1, weight.rows});
    if (weight.by_halves)
      return ops::matmul(factor.halves(), decoded(weight, DType::BF16), DType::F32);
    // A captured step keeps the converted matrix.
    return nn::linear(x, weight.data.to(DType::F32).eval());
  }
  if (weight.by_halves)
    return ops::matmul(factor.halves(), decoded(weight, DType::BF16), DType::F32);
  return ops::matmul(x, decoded(weight));
}

}  // namespace

Tensor product(const Factor& factor, const Weight& weight, const Tensor* onto) {
  const bool is_few = factor.exact().size(0) <= kFewRows;
  if (weight.type != nullptr && (is_few || (weight.by_bytes && !weight.by_halves)))
    return by_blocks(factor, weight, onto);
  const Tensor y = plain_product(factor, weight);
  return onto != nullptr ? *onto + y : y;
}

Tensor chosen_product(const Factor& factor, const Weight& weight, const Tensor& which) {
  const int64_t m = factor.exact().size(0);
  return tensor::make_opaque(block_choice_op(matrix_of(weight), m, weight.by_bytes), DType::F32,
                             {m, weight.rows}, factor_of(factor, weight), weight.data,
                             tensor::dense(which));
}

Tensor decoded(const Weight& weight, DType dtype) {
  if (weight.type == nullptr) return weight.data.to(dtype).transpose();
  return tensor::make_opaque(block_decode_op(matrix_of(weight)), dtype,
                             {weight.columns, weight.rows}, weight.data);
}

}  // namespace hologram::llm
