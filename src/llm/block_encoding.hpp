// Numbers into blocks: the other direction of block_types.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "llm/block_types.hpp"

namespace hologram::llm {

// Encodes whole blocks, so that the squares of what is lost are few: scales are looked for around
// the one that just takes the largest number. Numbers that are not finite count as 0, and those
// beyond 1e9 as that. False for a type that is only decoded.
bool encode_blocks(const BlockType& type, const float* numbers, int64_t count, std::byte* to);

}  // namespace hologram::llm
