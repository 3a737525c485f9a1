// The codes of blocks, four to a word, as instructions: libraries/blocks/codes-inl.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "hologram/builder.hpp"
#include "libraries/blocks/layout.hpp"

namespace hologram::llm {

// Gives the words of a block, and takes its codes: what was put since the last group ended is one.
struct ByteCode {
  using Value = program::Value;
  using Part = libraries::blocks::Part;

  program::Builder& builder;
  std::function<Value(uint32_t word)> word;          // u32
  std::function<void(uint32_t k, Value codes)> put;  // i32: of elements 4k to 4k + 3
  // Ends a group, which is block `n` of 32 elements or a half of it: the sum of products, less so
  // many times the sum of x, times the scale; and the sum of x times the offset first.
  std::function<void(uint32_t n, Part part, Value scale, uint32_t more)> add;
  std::function<void(uint32_t n, Part part, Value scale, Value offset)> add_with;
};

void emit_codes(std::string_view type, const ByteCode& code);

}  // namespace hologram::llm
