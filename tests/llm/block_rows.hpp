// Matrices in blocks of every type, made of random bytes.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "llm/weight.hpp"

namespace hologram::tests {

// Eight blocks of bytes from a linear congruential generator, whose f16 scales are made finite;
// the checksum of all numbers, the fourth and the last, as gguf-py decodes them.
struct BlockRow {
  const char* name;
  uint32_t checksum;
  float fourth, last;
  std::vector<size_t> scales;
};
inline const BlockRow kBlockRows[] = {
    {"Q4_0", 0x5a1e8e62, 0.00024533272f, 0.19799805f, {0}},
    {"Q4_1", 0xb6144c82, -0.012043238f, 0.01666832f, {0, 2}},
    {"Q5_0", 0xde29f92e, 0.00049066544f, -4.42749f, {0}},
    {"Q5_1", 0x72fd4049, -0.01093924f, 0.023812115f, {0, 2}},
    {"Q8_0", 0x7c6e41a3, 0.001717329f, 0.027971268f, {0}},
    {"Q2_K", 0x5d395b48, -2.7337646f, 13.8376465f, {80, 82}},
    {"Q3_K", 0x5c1934d2, 0.005742073f, 0.009647369f, {108}},
    {"Q4_K", 0x889f562d, 0.31406164f, -2.1754224f, {0, 2}},
    {"Q5_K", 0xee02a3ae, 0.36067486f, -73.63405f, {0, 2}},
    {"Q6_K", 0x2b19eff8, -62.80664f, 0.17344666f, {208}},
    {"IQ4_NL", 0xe9275f83, 0.0032506585f, 2.1779785f, {0}},
    {"IQ4_XS", 0x951f3585, 0.13100767f, 0.002862215f, {0}},
    {"MXFP4", 0xe92cbe05, 0.0f, -3.761582e-37f, {}},
};

inline std::vector<std::byte> random_blocks(const llm::BlockType& type, const BlockRow& row,
                                            size_t count) {
  std::vector<std::byte> blocks(count * type.bytes);
  uint32_t state = 12345;
  for (std::byte& byte : blocks) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  for (size_t b = 0; b < count; b++)
    for (const size_t at : row.scales) blocks[b * type.bytes + at + 1] &= std::byte{0xbf};
  // Of exponents, some that f32 has on every device.
  if (row.scales.empty() && count != 8)
    for (size_t b = 0; b < count; b++)
      blocks[b * type.bytes] = std::byte{0x78} | (blocks[b * type.bytes] & std::byte{7});
  return blocks;
}

struct BlockMatrixOf {
  llm::Weight weight;
  std::vector<float> numbers;  // [count, rows, columns]
};
inline BlockMatrixOf block_matrix(const BlockRow& row, int64_t rows, int64_t columns, int64_t count,
                                  const Executor& executor) {
  const llm::BlockType& type = *llm::block_type(row.name);
  const auto blocks =
      random_blocks(type, row, static_cast<size_t>(count * rows * columns / type.elements));
  BlockMatrixOf made{llm::weight_of(type, blocks, columns, count, executor), {}};
  made.numbers.resize(static_cast<size_t>(count * rows * columns));
  llm::decode_blocks(type, blocks, made.numbers.data());
  return made;
}

// From -1 to 1.
inline std::vector<float> numbers(int64_t count) {
  std::mt19937 random(3);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& number : x)
    number = static_cast<float>(static_cast<int32_t>(random()) >> 8) * 0x1p-23f;
  return x;
}

}  // namespace hologram::tests
