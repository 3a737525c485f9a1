// How quantised numbers lie in blocks: one table, of which both the host's decoding and the code of
// Atlas programs come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "hologram/builder.hpp"
#include "libraries/blocks/layout.hpp"

namespace hologram::llm {

// Gives the words of a block by their number, and takes its elements: groups, one after the other,
// of which each begins with its scale and perhaps an offset, and the codes of each in any order.
struct BlockCode {
  program::Builder& builder;
  std::function<program::Value(uint32_t word)> word;                                      // u32
  std::function<void(program::Value scale, std::optional<program::Value> offset)> group;  // f32
  std::function<void(uint32_t element, program::Value code)> put;                         // f32
};

// Its name is that of files::gguf_encodings().
struct BlockType : libraries::blocks::Layout {
  void (*decode)(const std::byte* block, float* elements);
  void (*emit)(const BlockCode& code);  // instructions that decode a block, as it lies in words
};

// Null where there is none of that name: it is no type of numbers in blocks, or not known.
const BlockType* block_type(std::string_view name);
std::span<const BlockType> block_types();

// Plain numbers, F32, F16 or BF16, as blocks of some: where a choice of matrices is multiplied
// with, these have no other way.
const BlockType& plain_blocks(DType dtype);

// Decodes whole blocks.
void decode_blocks(const BlockType& type, std::span<const std::byte> blocks, float* to);

}  // namespace hologram::llm
