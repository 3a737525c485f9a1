// hologram's own product of matrices against plain loops.
#include "libraries/product.hpp"

#include "libraries/host_ops.hpp"
#include "libraries/narrow/product.hpp"
#include "libraries/packed/packed.hpp"
#include "product_cases.hpp"
#include "share.hpp"

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

Product dense(DType type, int64_t m, int64_t n, int64_t k) {
  Product p;
  p.a = {.type = type, .row = k, .column = 1};
  p.b = {.type = type, .row = n, .column = 1};
  p.d = {.type = type, .row = n, .column = 1};
  p.accumulate = libraries::product_accumulator(type);
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}

struct Types {
  DType a, b, d;
};

// The kernels of the processor, with as many terms as several slices have, batches of which not all
// are copied at once, matrices b that are copied and that are not, rows of a that several
// rectangles have in common, and a few rows.
TEST(Product, KernelsHaveTheBitsOfTheProgram) {
  tests::Share share;
  const auto one = cpu(1), two = cpu(2);
  std::mt19937 random(2);
  for (const Types types : {Types{DType::F32, DType::F32, DType::F32},
                            {DType::F64, DType::F64, DType::F64},
                            {DType::F16, DType::F16, DType::F32},
                            {DType::BF16, DType::BF16, DType::F32}}) {
    std::vector<hal::GemmDesc> all;
    all.reserve(100);
    for (int round = 0; round < 60; round++) all.push_back(random_desc(types, random));
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{7, 64, 300},
                                  {1, 32, 65},
                                  {1, 777, 600},
                                  {3, 290, 270},
                                  {2, 5, 40},
                                  {40, 400, 700},
                                  {30, 1100, 70},
                                  {30, 1100, 200},
                                  {4, 4, 5000},
                                  {3, 9, 2305},
                                  {15, 13, 2100},
                                  {32, 32, 600},
                                  {1, 3, 4099}}) {
      all.push_back(describe(types, m, n, k));
      // A tall matrix a.
      hal::GemmDesc& turned = all.emplace_back(all.back());
      turned.transpose_a = true;
      turned.lda = m + 3;
    }
    hal::GemmDesc& many = all.emplace_back(describe(types, 130, 130, 300));
    many.batch = 30;
    many.stride_a = 0;
    many.stride_b = 130 * 300;
    many.stride_d = 130 * 130;
    hal::GemmDesc& turned = all.emplace_back(many);
    turned.transpose_b = true;
    turned.ldb = 300;
    for (const hal::GemmDesc& desc : all) {
      if (!share.next()) continue;
      SCOPED_TRACE(text(desc));
      if (size_of(types.a) == 2 && !libraries::packed::takes_narrow(desc)) continue;
      if (size_of(types.a) > 2)
        if (const auto refusal = libraries::packed::refuses(desc)) GTEST_SKIP() << refusal->reason;
      const auto plan = libraries::packed::plan(desc, 2);
      Case program(libraries::product_of(desc));
      program.fill(random);
      Case kernels(program.p), again(program.p);
      for (size_t i = 0; i < 2; i++) kernels.memory[i] = again.memory[i] = program.memory[i];
      program.run_own(*two);
      kernels.run(*two, *plan);
      again.run(*one, *plan);
      ASSERT_EQ(program.memory[2], kernels.memory[2]);
      ASSERT_EQ(program.memory[2], again.memory[2]);
    }
  }
}

// Sums of f32 in workspace of their own, beside the copies.
TEST(Product, KernelsTakeNarrowFloatsAsCopies) {
  const auto device = cpu(2);
  libraries::HostOps ops(2);
  std::mt19937 random(3);
  for (const Types types : {Types{DType::F16, DType::F16, DType::F16},
                            {DType::BF16, DType::BF16, DType::BF16},
                            {DType::BF16, DType::F16, DType::F32}})
    for (int round = 0; round < 20; round++) {
      const hal::GemmDesc desc = random_desc(types, random);
      SCOPED_TRACE(text(desc));
      const auto plan = ops.plan(desc);
      if (const auto* refusal = std::get_if<hal::Refusal>(&plan)) GTEST_SKIP() << refusal->reason;
      Case c(libraries::product_of(desc));
      c.fill(random);
      c.run(*device, *std::get<0>(plan));
      ASSERT_NO_FATAL_FAILURE(c.check());
    }
}

// Each of the instructions for narrow elements that this processor has: squares and parts of them,
// sums of several slices, more rows and columns than a block has, what a batch shares.
TEST(Product, NarrowElementsAreMultipliedByTheirInstructions) {
  tests::Share share;
  const auto one = cpu(1), two = cpu(2);
  std::mt19937 random(4);
  const auto bf16 = DType::BF16, i8 = DType::I8, u8 = DType::U8, i16 = DType::I16, i32 = DType::I32;
  size_t kernels = 0;
  for (const Types types :
       {Types{bf16, bf16, bf16}, Types{bf16, bf16, DType::F32}, Types{bf16, bf16, DType::F16},
        Types{i8, i8, i8}, Types{u8, u8, u8}, Types{i8, i8, i32}, Types{i8, u8, i32},
        Types{u8, i8, i32}, Types{u8, u8, i32}, Types{i16, i16, i16}, Types{i16, u8, i32},
        Types{i8, i16, i16}}) {
    std::vector<hal::GemmDesc> all;
    all.reserve(40);
    for (int round = 0; round < 10; round++) all.push_back(random_desc(types, random));
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 700, 70},
                                  {700, 3, 130},
                                  {20, 20, 4500},
                                  {530, 270, 40},
                                  {17, 33, 64}}) {
      all.push_back(describe(types, m, n, k));
      all.back().transpose_a = m == 20;
      if (m == 20) all.back().lda = m;
    }
    hal::GemmDesc& many = all.emplace_back(describe(types, 18, 35, 90));
    many.batch = 9;
    many.stride_b = 35 * 90 + 1;
    many.stride_d = 18 * 35;
    for (const hal::GemmDesc& desc : all) {
      if (!share.next()) continue;
      SCOPED_TRACE(text(desc));
      for (const libraries::narrow::Kernel* kernel : libraries::narrow::kernels_for(desc)) {
        SCOPED_TRACE(testing::Message() << kernel->name << " of " << name_of(kernel->a) << " and "
                                        << name_of(kernel->b));
        kernels++;
        ASSERT_FALSE(libraries::narrow::refuses(desc, libraries::narrow::Pays::Never));
        Case c(libraries::product_of(desc));
        c.fill(random);
        Case again(c.p);
        for (size_t i = 0; i < 2; i++) again.memory[i] = c.memory[i];
        c.run(*two, *libraries::narrow::plan(desc, *kernel, 2));
        again.run(*one, *libraries::narrow::plan(desc, *kernel, 1));
        ASSERT_EQ(c.memory[2], again.memory[2]);
        ASSERT_NO_FATAL_FAILURE(c.check());
      }
    }
  }
  if (kernels == 0) GTEST_SKIP() << "this processor has no such instructions";
}

// One to three rows by a matrix of narrow floats, which is read as it lies.
TEST(Product, FewRowsHaveTheBitsOfTheProgramWithNarrowFloats) {
  const auto one = cpu(1), two = cpu(2);
  libraries::HostOps ops(2);
  std::mt19937 random(7);
  for (const DType type : {DType::F16, DType::BF16})
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 32, 65},
                                  {1, 777, 600},
                                  {1, 9000, 40},
                                  {2, 65, 300},
                                  {3, 290, 270},
                                  {1, 5, 40}}) {
      hal::GemmDesc desc = describe(Types{type, type, type}, m, n, k);
      desc.batch = k == 65 ? 3 : 1;
      desc.stride_b = n * k;
      desc.stride_d = m * n;
      desc.ldb += n == 777 ? 3 : 0;
      SCOPED_TRACE(text(desc));
      const auto plan = ops.plan(desc);
      if (const auto* refusal = std::get_if<hal::Refusal>(&plan)) GTEST_SKIP() << refusal->reason;
      const hal::LibraryPlan& agreed = *std::get<0>(plan);
      Case c(libraries::product_of(desc));
      c.fill(random);
      Case again(c.p), program(c.p);
      for (size_t i = 0; i < 2; i++) again.memory[i] = program.memory[i] = c.memory[i];
      c.run(*two, agreed);
      again.run(*one, agreed);
      ASSERT_EQ(c.memory[2], again.memory[2]);
      ASSERT_NO_FATAL_FAILURE(c.check());
      program.run_own(*one);
      if (agreed.name().find("f32") != std::string::npos) {
        ASSERT_EQ(c.memory[2], program.memory[2]) << agreed.name();
      }
    }
}

// NaN and infinities are those of f32.
TEST(Product, SpecialNumbersOfBf16StayWhatTheyAre) {
  const Types types{DType::BF16, DType::BF16, DType::F32};
  const hal::GemmDesc desc = describe(types, 3, 33, 40);
  const auto kernels = libraries::narrow::kernels_for(desc);
  if (kernels.empty()) GTEST_SKIP() << "this processor has no instructions for bf16";
  for (const libraries::narrow::Kernel* kernel : kernels) {
    SCOPED_TRACE(testing::Message()
                 << kernel->name << " of " << name_of(kernel->a) << " and " << name_of(kernel->b));
    Case c(libraries::product_of(desc));
    std::mt19937 random(6);
    c.fill(random);
    put(DType::BF16, c.at(0, 0, 0, 7), std::numeric_limits<double>::quiet_NaN());
    put(DType::BF16, c.at(0, 0, 1, 8), std::numeric_limits<double>::infinity());
    put(DType::BF16, c.at(1, 0, 8, 5), 0);
    put(DType::BF16, c.at(1, 0, 9, 6), -std::numeric_limits<double>::infinity());
    c.run(*cpu(2), *libraries::narrow::plan(desc, *kernel, 2));
    c.check();
  }
}

// Instructions for bf16 take subnormal elements for 0; products do not, wherever one stands.
TEST(Product, SubnormalElementsOfBf16Count) {
  const Types types{DType::BF16, DType::BF16, DType::F32};
  const double tiny = std::ldexp(1.0, -133);  // bf16's least
  for (const bool transposed : {false, true})
    for (const bool of_a : {false, true})
      for (const int64_t at : {0, 39}) {
        hal::GemmDesc desc = describe(types, 35, 33, 40);
        desc.transpose_a = desc.transpose_b = transposed;
        desc.lda = transposed ? desc.m : desc.k;
        desc.ldb = transposed ? desc.k : desc.n;
        for (const libraries::narrow::Kernel* kernel : libraries::narrow::kernels_for(desc)) {
          SCOPED_TRACE(testing::Message() << kernel->name << ", transposed " << transposed
                                          << ", of a " << of_a << ", term " << at);
          Case c(libraries::product_of(desc));
          for (size_t i = 0; i < 2; i++) std::ranges::fill(c.memory[i], std::byte{0});
          put(DType::BF16, c.at(0, 0, 34, at), of_a ? tiny : 65536);
          put(DType::BF16, c.at(1, 0, at, 32), of_a ? 65536 : tiny);
          c.run(*cpu(2), *libraries::narrow::plan(desc, *kernel, 2));
          EXPECT_EQ(static_cast<double>(element(DType::F32, c.at(2, 0, 34, 32))), 65536 * tiny);
        }
      }
}

TEST(Product, AnEmptySumIsZero) {
  Case c(dense(DType::F32, 3, 5, 0));
  c.run_own(*cpu(1));
  c.check();
  EXPECT_EQ(c.memory[2][0], std::byte{0});
}

// f16 and bf16 are summed in f32: 5000 ones are lost in neither.
TEST(Product, NarrowFloatsAreSummedInF32) {
  for (const DType type : {DType::F16, DType::BF16}) {
    Case c(dense(type, 2, 3, 5000));
    for (size_t i = 0; i < 2; i++)
      for (size_t e = 0; e < c.memory[i].size(); e += 2) put(type, c.memory[i].data() + e, 1);
    c.run_own(*cpu(1));
    EXPECT_NEAR(static_cast<double>(element(type, c.at(2, 0, 1, 1))), 5000, 16);
  }
}

// Whichever way lanes lie, however many rows they have, and with either type of indices.
TEST(Product, EveryScheduleHasTheSameBits) {
  const auto device = cpu(2);
  const Product product = dense(DType::F32, 37, 29, 150);
  Case first(product);
  std::mt19937 random(5);
  first.fill(random);
  first.run_own(*device);
  first.check();
  for (const bool along_rows : {false, true})
    for (const uint8_t rows : {1, 2, 4, 8})
      for (const bool wide : {false, true}) {
        libraries::ProductLaunch launch = libraries::product_launch(product);
        launch.key.along_rows = along_rows;
        launch.key.rows = rows;
        launch.key.wide = wide;
        launch.grid = {
            1, (static_cast<uint64_t>(along_rows ? product.n : product.m) + rows - 1) / rows, 1};
        Case c(product);
        for (size_t i = 0; i < 2; i++) c.memory[i] = first.memory[i];
        c.run_own(*device, launch, rows == 2);
        EXPECT_EQ(c.memory[2], first.memory[2]) << along_rows << ' ' << int{rows} << ' ' << wide;
      }
}

// Squares for devices with many threads, whole ones and parts of them.
TEST(Product, TilesHaveTheSameBits) {
  const auto device = cpu(2);
  size_t tiled = 0;
  tests::Share share;
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{128, 128, 64}, {64, 130, 150}, {200, 65, 33}, {129, 257, 100}})
      for (const int turned : {0, 1, 2, 3}) {
        if (!share.next()) continue;
        Product product = dense(type, m, n, k);
        product.batch = turned == 3 ? 2 : 1;
        product.a.batch = m * k;
        product.b.batch = turned == 3 ? 0 : n * k;
        product.d.batch = m * n;
        if (turned % 2 != 0) std::tie(product.a.row, product.a.column) = std::pair(int64_t{1}, m);
        if (turned / 2 != 0) std::tie(product.b.row, product.b.column) = std::pair(int64_t{1}, k);
        Case first(product);
        std::mt19937 random(5);
        first.fill(random);
        first.run_own(*device);
        first.check();
        // The first of the tiles, and another one each time.
        const size_t others = std::size(libraries::kProductTiles) - 1;
        for (const size_t tile : {size_t{0}, 1 + tiled % others}) {
          const libraries::ProductLaunch launch =
              libraries::product_launch(product, true, static_cast<uint8_t>(tile));
          EXPECT_TRUE(launch.key.tiled);
          Case c(product);
          for (size_t i = 0; i < 2; i++) c.memory[i] = first.memory[i];
          c.run_own(*device, launch, turned == 1 && m == 128);
          EXPECT_EQ(c.memory[2], first.memory[2])
              << name_of(type) << ' ' << m << ' ' << turned << " by "
              << name_of(libraries::kProductTiles[tile]);
        }
        tiled++;
      }
  if (share.all()) {
    EXPECT_EQ(tiled, 48u);
  }
  EXPECT_FALSE(libraries::product_launch(dense(DType::F32, 500, 10, 500), true).key.tiled);
  EXPECT_FALSE(libraries::product_launch(dense(DType::F64, 500, 500, 500), true).key.tiled);
}

TEST(Product, TilesFitTheDevice) {
  const auto tile = [](int64_t size, uint32_t units, uint32_t bytes) {
    return name_of(libraries::kProductTiles[libraries::usual_tile(
        dense(DType::F32, size, size, size), units, bytes)]);
  };
  EXPECT_EQ(tile(4096, 132, 48 << 10), "128 x 128 x 16, 256 lanes");
  EXPECT_EQ(tile(4096, 132, 16 << 10), "128 x 64 x 16, 256 lanes")
      << "the larger needs more memory";
  EXPECT_EQ(tile(1536, 132, 48 << 10), "128 x 64 x 16, 256 lanes") << "few would have much to do";
  EXPECT_EQ(tile(100, 132, 48 << 10), "32 x 32 x 32, 64 lanes");
}

// A matrix of two columns is not computed two lanes at a time.
TEST(Product, LanesLieAlongTheLongSide) {
  EXPECT_FALSE(libraries::product_launch(dense(DType::F32, 500, 500, 500)).key.along_rows);
  EXPECT_TRUE(libraries::product_launch(dense(DType::F32, 500, 2, 500)).key.along_rows);
  EXPECT_FALSE(libraries::product_launch(dense(DType::F32, 2, 500, 500)).key.along_rows);
  EXPECT_TRUE(libraries::product_launch(dense(DType::F32, 3000000, 9, 1000)).key.wide);
  EXPECT_FALSE(libraries::product_launch(dense(DType::F32, 3000, 9, 1000)).key.wide);
}

TEST(Product, NothingIsLaunchedForNothing) {
  for (const auto& p : {dense(DType::F32, 0, 5, 3), dense(DType::F32, 5, 0, 3)}) {
    const Grid grid = libraries::product_launch(p).grid;
    EXPECT_EQ(grid[0] * grid[1] * grid[2], 0u);
  }
}

}  // namespace
}  // namespace hologram::products
