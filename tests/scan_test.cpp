// Running sums and products against a model that has the order of additions from hal::ScanDesc and
// exponents from frexp: bit for bit, by every way there is on the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hologram/hal/operations.hpp"
#include "loops_beside_programs.hpp"
#include "program/extended_range.hpp"
#include "share.hpp"

namespace hologram {
namespace {

using tests::Way;
using tests::ways;

constexpr int64_t kPiece = hal::ScanDesc::kPiece;

// A float whose exponent is a number of its own; 0, infinities and NaN are themselves.
template <class T>
struct Number {
  T mantissa;
  int64_t exponent = 0;

  static Number of(T x) { return normal(x, 0); }
  static Number normal(T mantissa, int64_t exponent) {
    int shift = 0;
    if (mantissa != 0 && std::isfinite(mantissa)) mantissa = std::frexp(mantissa, &shift);
    return {mantissa, exponent + shift};
  }
  T rounded() const {
    if (mantissa == 0 || !std::isfinite(mantissa)) return mantissa;
    return std::ldexp(mantissa, static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000)));
  }
  friend Number operator*(const Number& a, const Number& b) {
    return normal(a.mantissa * b.mantissa, a.exponent + b.exponent);
  }
  friend Number operator+(const Number& a, const Number& b) {
    if (a.mantissa == 0 || b.mantissa == 0 || !std::isfinite(a.mantissa + b.mantissa)) {
      if (a.mantissa == 0 && b.mantissa != 0) return b;
      if (b.mantissa == 0 && a.mantissa != 0) return a;
      return {a.mantissa + b.mantissa, 0};
    }
    // What lies further below than the precision goes is there to be rounded.
    const int64_t top = std::max(a.exponent, b.exponent);
    const auto at_top = [&](const Number& x) {
      return std::ldexp(x.mantissa, static_cast<int>(std::max<int64_t>(x.exponent - top, -100)));
    };
    return normal(at_top(a) + at_top(b), top);
  }
};

template <class T>
std::vector<T> model(const std::vector<T>& x, bool products) {
  using N = Number<T>;
  const N nothing = N::of(products ? 1 : 0);
  const auto combined = [&](const N& a, const N& b) { return products ? a * b : a + b; };
  std::vector<std::vector<N>> levels(1);
  for (const T each : x) levels[0].push_back(N::of(each));
  for (;;) {
    std::vector<N>& level = levels.back();
    std::vector<N> totals;
    for (size_t i = 0; i < level.size(); i++) {
      level[i] = combined(i % kPiece == 0 ? nothing : level[i - 1], level[i]);
      if (i % kPiece == kPiece - 1) totals.push_back(level[i]);
    }
    if (totals.empty()) break;
    levels.push_back(totals);
  }
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); i++) {
    N sum = levels[0][i];
    size_t block = i / kPiece;
    for (size_t k = 1; k < levels.size(); k++, block /= kPiece)
      if (block % kPiece != 0) sum = combined(levels[k][block - 1], sum);
    y[i] = sum.rounded();
  }
  return y;
}

// What each of a few elements in so many is.
enum class Rare { None, Huge, Tiny, Zero, Infinite, Nan, Everything };
constexpr const char* kRareNames[] = {"none", "huge", "tiny", "zero", "inf", "nan", "everything"};

template <class T>
std::vector<T> values(int64_t count, bool products, Rare rare, uint32_t one_in, uint32_t seed) {
  std::mt19937 random(seed);
  using L = std::numeric_limits<T>;
  const T huge[] = {L::max(), -L::max(), L::max() / 2,
                    static_cast<T>(std::ldexp(-1.5, L::max_exponent - 2))};
  const T tiny[] = {L::min(), -L::min() / 3, L::denorm_min(), std::sqrt(L::min())};
  std::vector<T> x(static_cast<size_t>(count));
  for (T& v : x) {
    const T part = static_cast<T>(random() % 65536) / 65536;
    v = products ? (random() % 2 == 0 ? 1 : -1) * (T(0.75) + part / 2) : part * 4 - 2;
    if (rare == Rare::None || random() % one_in != 0) continue;
    const Rare what = rare == Rare::Everything ? static_cast<Rare>(1 + random() % 5) : rare;
    switch (what) {
      case Rare::Huge: v = huge[random() % 4]; break;
      case Rare::Tiny: v = tiny[random() % 4]; break;
      case Rare::Zero: v = random() % 2 == 0 ? T(0) : T(-0.0); break;
      case Rare::Infinite: v = random() % 2 == 0 ? L::infinity() : -L::infinity(); break;
      default: v = L::quiet_NaN(); break;
    }
  }
  return x;
}

// Bit for bit, all NaN being one.
template <class T>
bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
void expect_equal(const T* have, const std::vector<T>& want, size_t apart) {
  for (size_t i = 0; i < want.size(); i++) {
    const T h = have[i * apart];
    if (same(h, want[i])) continue;
    ADD_FAILURE() << "element " << i << " is " << h << ", not " << want[i];
    return;
  }
}

// x as [rows, length, inner] and each of its columns as the model has them, by every way.
template <class T>
void try_shape(const Shape& shape, bool products, Rare rare, uint32_t one_in) {
  const int64_t rows = shape[0], length = shape[1], inner = shape[2];
  SCOPED_TRACE(testing::Message() << (products ? "products " : "sums ") << sizeof(T) << ' '
                                  << to_string(shape) << ' '
                                  << kRareNames[static_cast<size_t>(rare)] << ", one in "
                                  << one_in);
  const std::vector<T> x = values<T>(rows * length * inner, products, rare, one_in,
                                     static_cast<uint32_t>(length * 7 + inner));
  std::vector<std::vector<T>> want;
  for (int64_t o = 0; o < rows; o++)
    for (int64_t i = 0; i < inner; i++) {
      std::vector<T> column(static_cast<size_t>(length));
      for (int64_t j = 0; j < length; j++)
        column[static_cast<size_t>(j)] = x[static_cast<size_t>((o * length + j) * inner + i)];
      want.push_back(model(column, products));
    }
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const Tensor t = Tensor::from_vector(x, shape, way.executor);
    const std::vector<T> y = (products ? ops::cumprod(t, 1) : ops::cumsum(t, 1)).to_vector<T>();
    for (int64_t o = 0; o < rows; o++)
      for (int64_t i = 0; i < inner; i++)
        expect_equal(y.data() + o * length * inner + i, want[static_cast<size_t>(o * inner + i)],
                     static_cast<size_t>(inner));
  }
}

TEST(Scan, SameBitsAsTheModel) {
  tests::Share share;
  const std::vector<Shape> shapes = {
      {1, 1, 1},   {9, 2, 1},    {40, 3, 1},    {1, 255, 1},  {3, 256, 1},   {2, 257, 1},
      {1, 600, 1}, {20, 700, 1}, {1, 5000, 1},  {35, 515, 1}, {1, 70000, 1}, {3, 66000, 1},
      {2, 3, 2},   {1, 700, 2},  {2, 257, 3},   {1, 1030, 4}, {1, 513, 5},   {1, 700, 6},
      {2, 300, 7}, {1, 600, 70}, {1, 66000, 2}, {2, 1, 50},   {3, 2, 70},    {1, 3, 333}};
  for (const Shape& shape : shapes)
    for (const bool products : {false, true})
      for (const Rare rare : {Rare::None, Rare::Huge, Rare::Tiny, Rare::Zero, Rare::Infinite,
                              Rare::Nan, Rare::Everything})
        for (const uint32_t one_in : {3u, 300u, 20000u}) {
          if (rare == Rare::None && one_in != 3) continue;
          if (!share.next()) continue;
          try_shape<float>(shape, products, rare, one_in);
          try_shape<double>(shape, products, rare, one_in);
          if (testing::Test::HasFailure()) return;
        }
}

// A third level of blocks.
TEST(Scan, SameBitsInLongRows) {
  if (!tests::Share().all()) GTEST_SKIP() << "long rows are tried where all cases are";
  for (const bool products : {false, true})
    for (const Rare rare : {Rare::None, Rare::Huge, Rare::Tiny})
      try_shape<float>({1, 3 * kPiece * kPiece + 5 * kPiece + 3, 1}, products, rare, 100000);
}

// Each place of a piece and of a block of pieces where a sum may leave the range and come back.
TEST(Scan, ComesBackFromEverywhere) {
  const int64_t length = kPiece * kPiece + 2 * kPiece;
  const Way& loops = ways()[2];
  for (const int64_t at :
       {int64_t{0}, int64_t{1}, kPiece - 1, kPiece, kPiece + 1, kPiece * (kPiece - 1),
        kPiece * kPiece - 1, kPiece * kPiece, kPiece * kPiece + kPiece, length - 4}) {
    SCOPED_TRACE(at);
    std::vector<float> x(static_cast<size_t>(length), 0.0f), ones(x.size(), 1.0f);
    const auto place = static_cast<size_t>(at);
    x[place] = -3e38f, x[place + 1] = 3e38f, x[place + 2] = 3e38f, x[place + 3] = -3e38f;
    ones[place] = 1e-30f, ones[place + 1] = 1e-30f, ones[place + 2] = 1e30f,
    ones[place + 3] = 1e30f;
    for (const Way* way : {&ways()[0], &loops}) {
      const auto sums = ops::cumsum(Tensor::from_vector(x, {length}, way->executor));
      EXPECT_TRUE(ops::all(ops::isfinite(sums)).item<bool>());
      EXPECT_EQ(sums.select(0, -1).item<float>(), 0.0f);
      const auto products = ops::cumprod(Tensor::from_vector(ones, {length}, way->executor));
      EXPECT_NEAR(products.select(0, -1).item<float>(), 1.0f, 1e-6f);
      EXPECT_EQ(products.select(0, at + 1).item<float>(), 0.0f);
    }
  }
}

TEST(Scan, SpoilsNothingBehindAPiece) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const auto cumsum = [](const std::vector<Tensor>& parts) {
      return ops::cumsum(ops::concat(parts, 0));
    };
    const auto numbers = [&](const std::vector<float>& x) {
      return Tensor::from_vector(x, {static_cast<int64_t>(x.size())}, way.executor);
    };
    const auto zeros = [&](int64_t n) { return ops::zeros({n}, DType::F32, way.executor); };
    EXPECT_TRUE(ops::all(ops::isfinite(cumsum(
                             {numbers({-3e38f}), zeros(599), numbers({3e38f, 1e38f}), zeros(500)})))
                    .item<bool>());
    EXPECT_FALSE(ops::any(ops::isnan(cumsum({numbers({-INFINITY}), zeros(599),
                                             numbers({3e38f, 3e38f}), zeros(500)})))
                     .item<bool>());
    for (const int64_t twos : {511, 512, 70000}) {
      const Tensor x = ops::concat({zeros(1), ops::full({twos}, 2, DType::F32, way.executor)}, 0);
      EXPECT_EQ(ops::sum(ops::abs(ops::cumprod(x))).item<float>(), 0.0f);
    }
    // As IEEE 754 has it one after the other.
    const std::vector<float> y =
        cumsum({numbers({1, INFINITY, 3}), zeros(300), numbers({-INFINITY, 1}), zeros(300)})
            .to_vector<float>();
    for (size_t i = 0; i < y.size(); i++) {
      if (i >= 303) EXPECT_TRUE(std::isnan(y[i])) << i;
      else EXPECT_EQ(y[i], i == 0 ? 1.0f : INFINITY) << i;
    }
  }
}

// Infinity times what is beyond the exponents of f32 is infinite, and no NaN.
TEST(Scan, InfinityOutlastsSmallFactors) {
  for (const Way& way : ways())
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32})
      for (const int64_t inner : {1, 40})
        for (const int64_t at : {0, 5, 300}) {
          SCOPED_TRACE(testing::Message() << way.name << " " << name_of(dtype) << " " << at);
          constexpr int64_t kLength = 5000;
          Tensor x = ops::full({kLength, inner}, -1e-4, dtype, way.executor);
          x = ops::put(x, {{at, at + 1}}, -INFINITY);
          const Tensor products = ops::cumprod(x, 0).slice(0, {at, {}});
          EXPECT_TRUE(ops::all(ops::isinf(products)).item<bool>());
        }
}

// Sums of numbers that are not negative never step back.
void expect_no_step_back(const Way& way, DType type, int64_t length, int64_t inner) {
  SCOPED_TRACE(testing::Message() << way.name << ' ' << name_of(type) << ' ' << length << " x "
                                  << inner);
  const Tensor x = ops::rand({length, inner}, type, way.executor);
  for (const Tensor& each : {x, x * x * x, ops::full({length, inner}, 0.1, type, way.executor)}) {
    const Tensor y = ops::cumsum(each, 0);
    const Tensor back = y.slice(0, {1, {}}) < y.slice(0, {0, -1});
    EXPECT_EQ(ops::sum(back).item<int64_t>(), 0);
  }
}

TEST(Scan, NeverStepsBack) {
  tests::Share share;
  for (const Way& way : ways())
    for (const DType type : {DType::F16, DType::BF16, DType::F32, DType::F64})
      for (const int64_t length :
           {kPiece - 1, kPiece, kPiece + 1, 4 * kPiece + 5, kPiece * kPiece - 1, kPiece * kPiece,
            kPiece * kPiece + 1, 5 * kPiece * kPiece + 777})
        for (const int64_t inner : {1, 3, 6})
          if (share.next()) expect_no_step_back(way, type, length, inner);
  if (share.all())
    for (const size_t way : {1, 3})
      expect_no_step_back(ways()[way], DType::F32, kPiece * kPiece * kPiece + 1, 1);
}

// The numbers themselves: sums and products of any two, and back.
template <class T>
void expect_exact_ranges() {
  using program::Extended;
  std::mt19937_64 random(5);
  const auto any = [&] {
    for (;;) {
      T x;
      const uint64_t bits = random();
      std::memcpy(&x, &bits, sizeof x);
      if (std::isfinite(x)) return x;
    }
  };
  for (int i = 0; i < 20000; i++) {
    Extended<T> product{1, 0}, sum{0, 0};
    Number<T> exact = Number<T>::of(1), total = Number<T>::of(0);
    for (int k = 0; k < 12; k++) {
      const T x = any(), large = std::ldexp(x, std::numeric_limits<T>::max_exponent - 1 -
                                                   (x == 0 ? 0 : std::ilogb(x)));
      product = program::extended_product(product, Extended<T>{x, 0});
      exact = exact * Number<T>::of(x);
      const T term = k % 3 == 0 ? x : large;
      sum = program::extended_sum(sum, Extended<T>{term, 0});
      total = total + Number<T>::of(term);
      const T have[] = {program::rounded(product), program::rounded(program::settled(product)),
                        program::rounded(sum), program::rounded(program::settled(sum))};
      const T want[] = {exact.rounded(), exact.rounded(), total.rounded(), total.rounded()};
      ASSERT_TRUE(std::equal(std::begin(have), std::end(have), want, same<T>))
          << have[0] << ' ' << want[0] << ' ' << have[2] << ' ' << want[2];
    }
  }
}
TEST(Scan, ExponentsDoNotEnd) {
  expect_exact_ranges<float>();
  expect_exact_ranges<double>();
}

}  // namespace
}  // namespace hologram
