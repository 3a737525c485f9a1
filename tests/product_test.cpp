// hologram's own product of matrices against plain loops.
#include "libraries/product.hpp"

#include "product_cases.hpp"

namespace hologram::products {
namespace {

// Rows, columns or neither may be neighbours; the other stride may have a gap, or go backwards.
ProductMatrix layout(DType type, int64_t rows, int64_t columns, int64_t batch,
                     std::mt19937& random) {
  ProductMatrix x{.type = type};
  const auto some = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  const bool transposed = some(2) != 0;
  const int64_t unit = 1 + (some(4) == 0);
  const int64_t line = unit * std::max<int64_t>(1, transposed ? rows : columns) + some(3);
  x.row = transposed ? unit : line;
  x.column = transposed ? line : unit;
  x.batch = line * std::max<int64_t>(1, transposed ? columns : rows) + some(3);
  x.start = some(4);
  if (some(6) == 0) x.row = -x.row;
  if (some(6) == 0) x.column = -x.column;
  if (batch > 1 && some(3) == 0) x.batch = 0;
  return x;
}

Product random_product(DType type, std::mt19937& random) {
  constexpr int64_t kSides[] = {0, 1, 1, 2, 3, 5, 8, 17, 33, 65, 130, 270};
  const auto side = [&](size_t from) {
    return kSides[from + random() % (std::size(kSides) - from)];
  };
  Product p;
  p.accumulate = libraries::product_accumulator(type);
  p.m = side(0);
  p.n = side(0);
  p.k = side(0);
  if (p.m * p.n * p.k > 300000) p.k = 5;
  p.batch = static_cast<int64_t>(random() % 4);
  p.a = layout(type, p.m, p.k, p.batch, random);
  p.b = layout(type, p.k, p.n, p.batch, random);
  p.d = layout(type, p.m, p.n, 1, random);
  return p;
}

class OwnProduct : public testing::TestWithParam<DType> {};

TEST_P(OwnProduct, MatchesPlainLoopsWithTheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()));
  const auto one = cpu(1), two = cpu(2);
  for (int round = 0; round < 12; round++) {
    const Product product = random_product(GetParam(), random);
    SCOPED_TRACE(testing::Message() << product.batch << " of " << product.m << " x " << product.k
                                    << " x " << product.n);
    Case c(product), again(product);
    c.fill(random);
    for (size_t i = 0; i < 2; i++) again.memory[i] = c.memory[i];
    c.run_own(*one);
    again.run_own(*two);
    EXPECT_EQ(c.memory[2], again.memory[2]);
    ASSERT_NO_FATAL_FAILURE(c.check());
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, OwnProduct,
                         testing::Values(DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16,
                                         DType::I32, DType::U32, DType::I64, DType::U64, DType::F16,
                                         DType::BF16, DType::F32, DType::F64),
                         [](const auto& info) { return std::string(name_of(info.param)); });
}  // namespace
}  // namespace hologram::products
