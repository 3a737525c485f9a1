// Numbers in blocks: the host's decoding beside that of gguf-py 0.19, and products on devices
// beside plain sums.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <random>

#include "hologram/ops.hpp"
#include "llm/places.hpp"
#include "llm/weight.hpp"

namespace hologram::llm {
namespace {

// Eight blocks of bytes from a linear congruential generator, whose f16 scales are made finite;
// the checksum of all numbers, the fourth and the last, as gguf-py decodes them.
struct Row {
  const char* name;
  uint32_t checksum;
  float fourth, last;
  std::vector<size_t> scales;
};
const Row kRows[] = {
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

std::vector<std::byte> random_blocks(const BlockType& type, const Row& row, size_t count) {
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

TEST(Blocks, AllTypesAreHere) { EXPECT_EQ(block_types().size(), std::size(kRows)); }

TEST(Blocks, DecodeToTheBitsOfGgufPy) {
  for (const Row& row : kRows) {
    const BlockType* const type = block_type(row.name);
    ASSERT_NE(type, nullptr) << row.name;
    std::vector<float> numbers(size_t{8} * type->elements);
    decode_blocks(*type, random_blocks(*type, row, 8), numbers.data());
    for (float& number : numbers) number += 0.0f;  // -0 counts as 0
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(numbers.data()),
                            static_cast<uInt>(numbers.size() * sizeof(float)));
    EXPECT_EQ(numbers[3], row.fourth) << row.name;
    EXPECT_EQ(numbers.back(), row.last) << row.name;
    EXPECT_EQ(sum, row.checksum) << row.name;
  }
}

class Products : public tests::OnPlaces {
 protected:
  struct Matrix {
    Weight weight;
    std::vector<float> numbers;  // [rows, columns]
  };
  Matrix matrix(const Row& row, int64_t rows, int64_t columns, int64_t count = 1) const {
    const BlockType& type = *block_type(row.name);
    const auto blocks =
        random_blocks(type, row, static_cast<size_t>(count * rows * columns / type.elements));
    Matrix made{weight_of(type, blocks, columns, count, executor()), {}};
    made.numbers.resize(static_cast<size_t>(count * rows * columns));
    decode_blocks(type, blocks, made.numbers.data());
    return made;
  }
  static std::vector<float> inputs(int64_t count) {
    std::mt19937 random(3);
    std::vector<float> x(static_cast<size_t>(count));
    for (float& number : x)
      number = static_cast<float>(static_cast<int32_t>(random()) >> 8) * 0x1p-23f;
    return x;
  }
  // Which of `count` matrices each row of x is multiplied by, or all by the only one.
  static void expect_products(const std::vector<float>& y, const std::vector<float>& x,
                              const Matrix& a, const std::vector<int32_t>& which) {
    const int64_t rows = a.weight.rows, columns = a.weight.columns;
    const auto m = static_cast<int64_t>(x.size()) / columns;
    ASSERT_EQ(y.size(), static_cast<size_t>(m * rows));
    for (int64_t i = 0; i < m; i++)
      for (int64_t r = 0; r < rows; r++) {
        const int64_t of = which.empty() ? 0 : which[static_cast<size_t>(i)];
        double sum = 0, size = 0;
        for (int64_t k = 0; k < columns; k++) {
          const double term = double{x[static_cast<size_t>(i * columns + k)]} *
                              a.numbers[static_cast<size_t>((of * rows + r) * columns + k)];
          sum += term;
          size += std::fabs(term);
        }
        ASSERT_NEAR(y[static_cast<size_t>(i * rows + r)], sum, size * 2e-6)
            << a.weight.type->name << ", row " << i << ", output " << r;
      }
  }
};

TEST_P(Products, AreThoseOfTheDecodedNumbers) {
  for (const Row& row : kRows) {
    if (is_slow() && std::strcmp(row.name, "Q4_0") != 0) continue;
    const Matrix a = matrix(row, 45, 512);
    for (const int64_t m : {1, 3, 20}) {
      const std::vector<float> x = inputs(m * 512);
      const Tensor given = Tensor::from_vector(x, {m, 512}, executor());
      expect_products(product(given, a.weight).to_vector<float>(), x, a, {});
    }
  }
}

TEST_P(Products, DecodeToTheHostsBits) {
  for (const Row& row : kRows) {
    if (is_slow() && std::strcmp(row.name, "Q8_0") != 0) continue;
    const Matrix a = matrix(row, 33, 512);
    const std::vector<float> all = decoded(a.weight).to_vector<float>();
    for (size_t r = 0; r < 33; r++)
      for (size_t k = 0; k < 512; k++)
        ASSERT_EQ(all[k * 33 + r], a.numbers[r * 512 + k]) << row.name << ' ' << r << ' ' << k;
  }
}

TEST_P(Products, ChooseAmongMatrices) {
  if (is_slow()) GTEST_SKIP() << "it takes a minute there";
  for (const Row& row : {kRows[0], kRows[7]}) {
    const Matrix a = matrix(row, 40, 256, 3);
    const std::vector<int32_t> which = {2, 0, 0, 1, 2};
    const std::vector<float> x = inputs(5 * 256);
    const Tensor y = product(Tensor::from_vector(x, {5, 256}, executor()), a.weight,
                             Tensor::from_vector(which, {5}, executor()));
    expect_products(y.to_vector<float>(), x, a, which);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Products, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace hologram::llm
