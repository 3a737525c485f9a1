// Numbers at the ends of what types hold, wherever tensors take one; results do not depend on a
// parameter being 1. Right answers are exact integers and decimals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hologram/ops.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = INT64_MAX;
constexpr uint64_t kAll = UINT64_MAX;
constexpr double kMostF32 = std::numeric_limits<float>::max();
constexpr double kMostF64 = std::numeric_limits<double>::max();

using Whole = std::vector<int64_t>;
Whole whole(const Tensor& t) { return t.to(DType::I64).to_vector<int64_t>(); }
bool refuses(const std::function<void()>& call, const std::string& expected) {
  return message_of(call).find(expected) != std::string::npos;
}

TEST(Numbers, BeyondI64AreU64) {
  EXPECT_EQ(ops::full({}, kAll).dtype(), DType::U64);
  EXPECT_EQ(ops::full({}, kAll).item<uint64_t>(), kAll);
  EXPECT_EQ(ops::full({}, uint64_t{7}).dtype(), DType::I64);
  const Tensor u = ops::zeros({1}, DType::U64);
  EXPECT_EQ((u + kAll).to_vector<uint64_t>()[0], kAll);
  EXPECT_EQ((ops::zeros({1}) + kAll).to_vector<float>()[0], 0x1p64f);
  EXPECT_EQ((ops::zeros({1}, DType::F64) + (kAll << 11)).to_vector<double>()[0], 0x1p64 - 0x1p11);
  EXPECT_EQ((ops::zeros({1}, DType::Bool) == kAll).dtype(), DType::Bool);
  EXPECT_TRUE((ops::full({1}, kAll) == kAll).item<bool>());
  EXPECT_FALSE((ops::full({1}, kAll - 1) == kAll).item<bool>());
  for (const DType t : {DType::I64, DType::U32, DType::I8})
    EXPECT_TRUE(refuses([&] { ops::zeros({1}, t) + kAll; }, "18446744073709551615 is not a value"))
        << name_of(t);
}

TEST(Numbers, FitOrAreRefused) {
  struct Ends {
    DType dtype;
    int64_t least;
    uint64_t most;
  };
  const Ends ends[] = {{DType::I8, -128, 127},
                       {DType::U8, 0, 255},
                       {DType::I16, -32768, 32767},
                       {DType::U16, 0, 65535},
                       {DType::I32, INT32_MIN, INT32_MAX},
                       {DType::U32, 0, UINT32_MAX},
                       {DType::I64, kLeast, kMost},
                       {DType::U64, 0, kAll}};
  for (const Ends& e : ends) {
    EXPECT_EQ(whole(ops::full({1}, e.least, e.dtype)), Whole{e.least});
    EXPECT_EQ(ops::full({1}, e.most, e.dtype).to(DType::U64).to_vector<uint64_t>()[0], e.most);
    const auto refused = [&](const Operand& number) {
      EXPECT_TRUE(refuses([&] { ops::full({1}, number, e.dtype); }, "is not a value of type"))
          << name_of(e.dtype);
    };
    if (e.most < kAll) refused(e.most + 1);
    if (e.least > kLeast) refused(e.least - 1);
    // The same of floats, whose whole numbers are exact.
    const auto beyond = std::exp2(std::ceil(std::log2(static_cast<double>(e.most))));
    refused(beyond);
    for (const double bad : {0.5, -1e300, 1e300, std::nan(""), HUGE_VAL}) refused(bad);
  }
  EXPECT_EQ(whole(ops::full({1}, -0x1p63, DType::I64)), Whole{kLeast});
  EXPECT_EQ(ops::full({1}, 0x1p63, DType::U64).to_vector<uint64_t>()[0], uint64_t{1} << 63);
}

// By way of f64 they would be rounded to a tie first.
TEST(Numbers, IntegersAreRoundedOnce) {
  const int64_t n = (int64_t{1} << 53) + (1 << 29) + 1;
  EXPECT_EQ(ops::full({}, n, DType::F32).item<float>(), 0x1p53f + 0x1p30f);
  EXPECT_EQ((ops::zeros({1}) - n).to_vector<float>()[0], -(0x1p53f + 0x1p30f));
}

TEST(Numbers, StepsAndEndsOfSlices) {
  const Tensor x = ops::arange(10);
  const auto cut = [&](std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step) {
    return whole(x.slice(0, {begin, end, step}));
  };
  EXPECT_EQ(cut({}, {}, kMost), Whole{0});
  EXPECT_EQ(cut({}, {}, kLeast), Whole{9});
  EXPECT_EQ(cut({}, {}, -kMost), Whole{9});
  EXPECT_EQ(cut(2, 8, kMost - 1), Whole{2});
  EXPECT_EQ(cut(8, 2, kLeast + 1), Whole{8});
  EXPECT_EQ(cut(kLeast, kMost, 9), (Whole{0, 9}));
  EXPECT_EQ(cut(kMost, kLeast, -9), (Whole{9, 0}));
  EXPECT_EQ(cut(kMost, {}, 1), Whole());
  EXPECT_EQ(cut(kLeast, kLeast, kMost), Whole());
  const Tensor m = ops::arange(12).reshape({3, 4});
  EXPECT_EQ(whole(m.slice({{{}, {}, kMost}, {{}, {}, kLeast}}) + m.slice({{1, 2}, {2, 3}})),
            Whole{3 + 6});
  EXPECT_TRUE(refuses([&] { x.select(0, kMost); }, "outside of axis 0"));
  EXPECT_TRUE(refuses([&] { x.select(0, kLeast); }, "outside of axis 0"));
}

TEST(Numbers, Ranges) {
  EXPECT_EQ(whole(ops::arange(kMost - 2, kMost)), (Whole{kMost - 2, kMost - 1}));
  EXPECT_EQ(whole(ops::arange(kLeast, kMost, kMost)), (Whole{kLeast, -1, kMost - 1}));
  EXPECT_EQ(whole(ops::arange(kMost, kLeast, kLeast)), (Whole{kMost, -1}));
  EXPECT_EQ(ops::arange(kAll - 1, kAll).to_vector<uint64_t>(), std::vector<uint64_t>{kAll - 1});
  EXPECT_EQ(ops::arange(kAll, kAll - 3, -2).to_vector<uint64_t>(),
            (std::vector<uint64_t>{kAll, kAll - 2}));
  EXPECT_EQ(whole(ops::arange(3, 0, -1, DType::U8)), (Whole{3, 2, 1}));
  EXPECT_EQ(whole(ops::arange(-128, 128, 255, DType::I8)), (Whole{-128, 127}));
  EXPECT_TRUE(refuses([] { ops::arange(0, 300, 1, DType::U8); }, "299 is not a value of type u8"));
  EXPECT_TRUE(refuses([] { ops::arange(2, -2, -1, DType::U64); }, "-1 is not a value of type u64"));
  EXPECT_TRUE(refuses([] { ops::arange(kLeast, kMost); }, "shape"));
  // A step that is larger than all there is.
  EXPECT_EQ(ops::arange(0.5, 1.0, HUGE_VAL).to_vector<float>(), std::vector<float>{0.5});
  EXPECT_EQ(ops::arange(1.0, 0.5, HUGE_VAL).size(), 0);
  EXPECT_EQ(ops::arange(-kMostF64, kMostF64, kMostF64, DType::F64).to_vector<double>(),
            (std::vector<double>{-kMostF64, 0}));
}

TEST(Numbers, EndsOfLinspace) {
  for (const auto& [dtype, most] : {std::pair{DType::F32, kMostF32}, {DType::F64, kMostF64}})
    for (const int64_t count : {2, 3, 4, 5, 9, 1000}) {
      const std::vector<double> values =
          ops::linspace(-most, most, count, dtype).to(DType::F64).to_vector<double>();
      EXPECT_EQ(values.front(), -most);
      EXPECT_EQ(values.back(), most);
      for (size_t k = 0; k < values.size(); k++) {
        const double right = (2.0 * static_cast<double>(k) / static_cast<double>(count - 1) - 1);
        EXPECT_NEAR(values[k] / most, right, 3e-7) << name_of(dtype) << ' ' << count << ' ' << k;
      }
    }
}

TEST(Numbers, PositionsBeyondI64LieOutside) {
  const Tensor x = ops::arange(4);
  for (const uint64_t n : {kAll, kAll - 3, uint64_t{1} << 63, static_cast<uint64_t>(kMost)}) {
    const Tensor at = ops::full({1}, n, DType::U64);
    EXPECT_TRUE(refuses([&] { ops::take(x, at, 0).eval(); }, "lies outside")) << n;
    EXPECT_TRUE(refuses([&] { ops::gather(x, at, 0).eval(); }, "lies outside")) << n;
    EXPECT_TRUE(refuses([&] { ops::scatter(x, at, 1, 0).eval(); }, "lies outside")) << n;
    EXPECT_TRUE(refuses([&] { ops::scatter(ops::zeros({4}), at, 1, 0).eval(); }, "lies outside"))
        << n;
    EXPECT_TRUE(refuses([&] { ops::scatter_add(x, at, 1, 0).eval(); }, "lies outside")) << n;
  }
  EXPECT_EQ(whole(ops::take(x, ops::full({2}, 3, DType::U64), 0)), (Whole{3, 3}));
  EXPECT_EQ(whole(ops::take(x, ops::full({1}, -1), 0)), Whole{3});
  EXPECT_EQ(whole(ops::scatter(ops::zeros({4}, DType::I64), ops::full({1}, -1), 5, 0)),
            (Whole{0, 0, 0, 5}));
}

TEST(Numbers, ShapesWhoseProductOverflows) {
  const Tensor x = ops::ones({4});
  const int64_t large = int64_t{1} << 62;
  EXPECT_TRUE(refuses([&] { ops::repeat(x, large); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::tile(x, {large}); }, "shape"));
  EXPECT_TRUE(refuses([&] { x.reshape({large, 4, 4}); }, "shape"));
  EXPECT_TRUE(refuses([&] { x.reshape({-1, large, 4}); }, "shape"));
  EXPECT_TRUE(refuses([&] { x.reshape({large, large, 4}); }, "shape"));
  EXPECT_TRUE(refuses([&] { x.broadcast_to({large, 4}); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::pad(x, {{kMost, 0}}); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::pad(x, {{kMost, kMost}}); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::zeros({large, large}); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::eye(kMost); }, "shape"));
  EXPECT_TRUE(refuses([&] { ops::split(x, kMost); }, "do not add up"));
  EXPECT_EQ(whole(ops::roll(ops::arange(3), kLeast)), whole(ops::roll(ops::arange(3), 1)));
}

TEST(Numbers, RandomIntegersAtTheEnds) {
  const auto inside = [](const Tensor& t, auto low, auto high) {
    for (const auto v : t.to_vector<decltype(low)>())
      if (v < low || v >= high) return false;
    return true;
  };
  EXPECT_TRUE(inside(ops::randint(kLeast, kMost, {100}), kLeast, kMost));
  EXPECT_TRUE(
      inside(ops::randint(uint64_t{1} << 63, kAll, {100}, DType::U64), uint64_t{1} << 63, kAll));
  EXPECT_EQ(ops::randint(kAll - 1, kAll, {1}, DType::U64).item<uint64_t>(), kAll - 1);
  EXPECT_TRUE(refuses([] { ops::randint(0, 257, {1}, DType::U8); }, "256 is not a value"));
  EXPECT_TRUE(refuses([] { ops::randint(0.5, 2, {1}); }, "0.5 is not a value"));
  EXPECT_TRUE(refuses([] { ops::randint(kLeast, uint64_t{1} << 63, {1}); }, "is not a value"));
  EXPECT_TRUE(refuses([] { ops::randint(3, 3, {1}); }, "no number from 3 to below 3"));
}

TEST(Numbers, ProductsHaveTheDTypeOfTheirOperandsForEveryFactor) {
  for (size_t i = 2; i < kDTypeCount; i++) {
    const auto t = static_cast<DType>(i);
    const Tensor a = ops::ones({2, 3}, t), b = ops::ones({3, 2}, t), c = ops::ones({2}, t);
    for (const int alpha : {0, 1, 2, 3})
      for (const int beta : {0, 1, 2}) {
        const Tensor d = ops::gemm(a, b, c, alpha, beta);
        EXPECT_EQ(d.dtype(), t);
        EXPECT_EQ(whole(d), Whole(4, 3 * alpha + beta)) << name_of(t) << alpha << beta;
        EXPECT_EQ(ops::gemv(a, ops::ones({3}, t), c, alpha, beta).dtype(), t);
        EXPECT_EQ(ops::gemm(a, b, c.to(t == DType::U64 ? t : DType::F64), alpha, beta).dtype(),
                  t == DType::U64 ? t : DType::F64);
      }
    if (is_float(t)) continue;
    EXPECT_TRUE(refuses([&] { ops::gemm(a, b, c, 0.5); }, "0.5 is not a value")) << name_of(t);
    EXPECT_TRUE(refuses([&] { ops::gemm(a, b, c, 1, 1.5); }, "1.5 is not a value")) << name_of(t);
    EXPECT_EQ(ops::gemm(a, b, c, 2.0, 3.0).dtype(), t);
  }
  const Tensor wide = ops::full({1, 1}, (1 << 24) + 1);
  EXPECT_EQ(whole(ops::gemm(wide, ops::ones({1, 1}, DType::I64), wide, 2, 1)),
            Whole{3 * ((1 << 24) + 1)});
  const int64_t odd = (int64_t{1} << 53) + 1;
  EXPECT_EQ(whole(ops::gemm(ops::full({1, 1}, 1), ops::full({1, 1}, 1), wide, odd, 0)), Whole{odd});
}

// Of f16: 262144 is more than it holds, an eighth of it is not. Of bf16: one rounding, not three.
TEST(Numbers, ProductsAreScaledBeforeTheyAreRounded) {
  const Tensor row = ops::full({1, 4}, 256, DType::F16),
               column = ops::full({4, 1}, 256, DType::F16);
  const Tensor none = ops::zeros({1, 1}, DType::F16);
  EXPECT_EQ(ops::gemm(row, column, none, 0.125, 0).item<float>(), 32768);
  EXPECT_EQ(ops::gemm(row, column, none, 0.125).item<float>(), 32768);
  EXPECT_EQ(ops::gemm(row, column, ops::full({1, 1}, -60000, DType::F16), 1, 4).item<float>(),
            22144);
  EXPECT_EQ(ops::gemv(row, column.flatten(), none.flatten(), 0.125).item<float>(), 32768);
  const Tensor one = ops::ones({1, 1}, DType::BF16), tiny = ops::full({1, 1}, 0x1p-8, DType::BF16);
  // 257 / 256 by itself is a tie and goes to 1; with a quarter of tiny it does not.
  EXPECT_EQ(ops::gemm(one, one, tiny, 1 + 0x1p-8, 0.25).item<float>(), 1 + 0x1p-7f);
}

// What is not kept needs no memory; what is kept has to fit.
TEST(Numbers, OnlyWhatIsInMemoryHasToFit) {
  const Executor cpu(BackendType::Cpu);
  const auto memory = static_cast<int64_t>(cpu.device().total_memory);
  const int64_t n = memory / 8 + 1000;
  const Tensor ones = ops::ones({1}, DType::U8, cpu).broadcast_to({n});
  EXPECT_NO_THROW(ops::sum(ones));
  EXPECT_NO_THROW(ops::sum(ones.to(DType::F64) * 2));
  EXPECT_TRUE(refuses([&] { (ones.to(DType::F64) * 2).eval(); }, "does not fit into the"));
  EXPECT_TRUE(refuses([&] { ops::zeros({n}, DType::F64, cpu).eval(); }, "does not fit into the"));
  EXPECT_TRUE(refuses([&] { ops::cumsum(ones.to(DType::F64)); }, "does not fit into the"));
}

}  // namespace
}  // namespace hologram
