// Numbers in blocks: the host's decoding beside that of gguf-py 0.19, and products on devices
// beside plain sums.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>

#include "hologram/ops.hpp"
#include "llm/block_rows.hpp"
#include "llm/places.hpp"
#include "llm/weight.hpp"

namespace hologram::llm {
namespace {

using tests::kBlockRows;
using Row = tests::BlockRow;

TEST(Blocks, AllTypesAreHere) { EXPECT_EQ(block_types().size(), std::size(kBlockRows)); }

TEST(Blocks, DecodeToTheBitsOfGgufPy) {
  for (const Row& row : kBlockRows) {
    const BlockType* const type = block_type(row.name);
    ASSERT_NE(type, nullptr) << row.name;
    std::vector<float> numbers(size_t{8} * type->elements);
    decode_blocks(*type, tests::random_blocks(*type, row, 8), numbers.data());
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
  using Matrix = tests::BlockMatrixOf;
  Matrix matrix(const Row& row, int64_t rows, int64_t columns, int64_t count = 1) const {
    return tests::block_matrix(row, rows, columns, count, executor());
  }
  static std::vector<float> inputs(int64_t count) { return tests::numbers(count); }
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
  for (const Row& row : kBlockRows) {
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
  for (const Row& row : kBlockRows) {
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
  for (const Row& row : {kBlockRows[0], kBlockRows[7]}) {
    const Matrix a = matrix(row, 40, 256, 3);
    const std::vector<int32_t> which = {2, 0, 0, 1, 2};
    const std::vector<float> x = inputs(5 * 256);
    const Tensor y = chosen_product(Tensor::from_vector(x, {5, 256}, executor()), a.weight,
                                    Tensor::from_vector(which, {5}, executor()));
    expect_products(y.to_vector<float>(), x, a, which);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Products, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace hologram::llm
