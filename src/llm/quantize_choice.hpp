// Which type of numbers each tensor of a model gets.
#pragma once

#include <string>
#include <string_view>

#include "hologram/dtype.hpp"
#include "hologram/quantize.hpp"
#include "llm/block_types.hpp"

namespace hologram::llm {

// A type of blocks, or a dtype.
struct NumberType {
  const BlockType* block = nullptr;
  DType dtype = DType::None;
  std::string_view name() const;
  uint64_t bytes(uint64_t numbers) const;
  bool operator==(const NumberType&) const = default;
};
// By its name in any letters. InvalidArgument if there is none.
NumberType number_type(std::string_view name);

// What `general.file_type` says of a file of that type.
uint32_t file_type(const NumberType& type);

struct Choice {
  NumberType type;
  bool fell_back = false;
};
// `logits`: whether the matrix is what logits are made by.
Choice choose_type(const QuantizeOptions& options, const std::string& name, int64_t rows,
                   int64_t columns, bool logits);

}  // namespace hologram::llm
