// Movement, running sums and order of tensors, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "hologram/error.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

using Ints = std::vector<int64_t>;

Ints ints(const Tensor& t) { return t.to(DType::I64).to_vector<int64_t>(); }
Tensor counted(const Shape& shape) { return ops::arange(count_of(shape)).reshape(shape); }

TEST(Movement, Concat) {
  const Tensor a = counted({2, 2}), b = counted({2, 1}) * 2.5;
  const Tensor c = ops::concat({a, b, a.transpose()}, 1);
  EXPECT_EQ(c.dtype(), DType::F32);
  EXPECT_EQ(c.to_vector<float>(), (std::vector<float>{0, 1, 0, 0, 2, 2, 3, 2.5, 1, 3}));
  EXPECT_EQ(ops::stack({a, a}, -1).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(ints(ops::stack({a, a + 10}, 1)), (Ints{0, 1, 10, 11, 2, 3, 12, 13}));
  EXPECT_THROW(ops::concat({a, counted({3, 3})}), Error);
  EXPECT_EQ(ints(ops::concat({counted({0}), counted({2})})), (Ints{0, 1}));
}

TEST(Movement, ConcatIsFusedWithWhatItPutsTogether) {
  const Tensor x = ops::rand({1000}).eval();
  const Tensor y = ops::concat({ops::exp(x) + 1, x * 2});
  const uint64_t before = x.executor().counters().launches;
  y.eval();
  EXPECT_EQ(x.executor().counters().launches - before, 2u);
}

TEST(Movement, SplitPadRollRepeatTile) {
  const Tensor x = counted({5});
  EXPECT_EQ(ints(ops::split(x, 2)[0]), (Ints{0, 1, 2}));
  EXPECT_EQ(ints(ops::split(x, Ints{1, 4})[1]), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(ints(ops::pad(x, {{1, 2}}, 9)), (Ints{9, 0, 1, 2, 3, 4, 9, 9}));
  EXPECT_EQ(ints(ops::roll(x, -7)), (Ints{2, 3, 4, 0, 1}));
  EXPECT_EQ(ints(ops::repeat(counted({2}), 3)), (Ints{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ints(ops::tile(counted({2}), {2, 2})), (Ints{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(ints(ops::put(x, {{1, {}, 2}}, -1)), (Ints{0, -1, 2, -1, 4}));
}

TEST(Movement, TakeGatherScatter) {
  const Tensor x = counted({3, 4});
  const Tensor at = Tensor::from_vector<int32_t>({2, -3, 1}, {3});
  EXPECT_EQ(ints(ops::take(x, at, 0)), (Ints{8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ints(ops::take(x, at.unsqueeze(0), 1)), (Ints{2, 1, 1, 6, 5, 5, 10, 9, 9}));
  EXPECT_EQ(ints(ops::take(x, at)), (Ints{2, 9, 1}));
  EXPECT_EQ(ints(ops::gather(x, Tensor::from<int64_t>({1, 0, 3}, {3, 1}), 1)), (Ints{1, 4, 11}));
  const Tensor zero = ops::zeros({4}, DType::I64);
  EXPECT_EQ(ints(ops::scatter(zero, Tensor::from<int64_t>({1, 3, 1}),
                              Tensor::from<int64_t>({5, 6, 7}), 0)),
            (Ints{0, 7, 0, 6}));
  EXPECT_EQ(ints(ops::scatter_add(zero, Tensor::from<int64_t>({1, -1, 1}), 5, 0)),
            (Ints{0, 10, 0, 5}));
  const Tensor outside = ops::take(x, Tensor::from<int64_t>({3}), 0);
  EXPECT_THROW(outside.eval(), Error);
  EXPECT_THROW((outside + 1).eval(), Error) << "a failure stays";
}

TEST(Order, RunningSums) {
  for (const int64_t n : {0, 1, 255, 256, 257, 70000}) {
    const Tensor x = ops::randint(-5, 6, {n}).eval();
    Ints expected = ints(x);
    std::partial_sum(expected.begin(), expected.end(), expected.begin());
    EXPECT_EQ(ints(ops::cumsum(x)), expected) << n;
  }
  const Tensor x = counted({3, 300, 2});
  EXPECT_EQ(ops::cumsum(x, 1).select(1, -1).to_vector<int64_t>(),
            ops::sum(x, 1).to_vector<int64_t>());
  EXPECT_EQ(ints(ops::cumprod(ops::arange(1, 6))), (Ints{1, 2, 6, 24, 120}));
}

template <class T>
void expect_sorted(std::vector<T> values, DType dtype) {
  const auto n = static_cast<int64_t>(values.size());
  const Tensor x = Tensor::from_vector(values, {n}).to(dtype).eval();
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [](T v) { return std::isnan(static_cast<double>(v)) ? 1 : 0; };
  const auto before = [&](int64_t a, int64_t b) {
    const T x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return rank(x) != rank(y) ? rank(x) < rank(y) : x < y;
  };
  std::stable_sort(order.begin(), order.end(), before);
  EXPECT_EQ(ops::argsort(x).to_vector<int64_t>(), order) << n << " " << name_of(dtype);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(b, a); });
  EXPECT_EQ(ops::argsort(x, 0, true).to_vector<int64_t>(), order) << n << " " << name_of(dtype);
}

TEST(Order, SortsLikeAStableSort) {
  std::mt19937_64 random(3);
  for (const size_t n : {1, 2, 100, 256, 257, 5000}) {
    std::vector<float> floats(n);
    std::vector<double> doubles(n);
    std::vector<int32_t> numbers(n), few(n);
    for (size_t i = 0; i < n; i++) {
      floats[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
      doubles[i] = i % 7 == 0 ? -0.0 : i % 11 == 0 ? 0.0 : std::bit_cast<double>(random());
      numbers[i] = static_cast<int32_t>(random());
      few[i] = static_cast<int32_t>(random() % 5) - 2;
    }
    expect_sorted(floats, DType::F32);
    expect_sorted(doubles, DType::F64);
    expect_sorted(numbers, DType::I32);
    expect_sorted(few, DType::I8);
  }
}

// The same bits, and the same order of what is equal, as by positions.
TEST(Order, SortedValuesAreThoseAtTheSortedPositions) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I8, DType::U64, DType::Bool})
    for (const int64_t n : {1, 200, 257, 3000}) {
      const Tensor wide = ops::randn({2, n}) * 40;
      Tensor x = (dtype == DType::U64 ? ops::abs(wide) : wide).to(dtype);
      if (is_float(dtype))  // zeros of both signs, NaN and infinity among them
        x = ops::where(wide < -20, 0.0, ops::where(wide > 45, NAN, ops::where(wide > 30, -0.0, x)));
      x.eval();
      for (const bool descending : {false, true}) {
        const Array sorted = ops::sort(x, 1, descending).array();
        const Array expected = ops::gather(x, ops::argsort(x, 1, descending), 1).array();
        ASSERT_EQ(std::memcmp(sorted.data(), expected.data(), sorted.bytes()), 0)
            << n << " " << name_of(dtype) << " " << descending;
      }
    }
}

TEST(Order, TheFirstOfManyAreThoseOfTheSortedRow) {
  const auto same = [](const Tensor& a, const Tensor& b) {
    const Array x = a.array(), y = b.array();
    return x.shape() == y.shape() && x.dtype() == y.dtype() &&
           std::memcmp(x.data(), y.data(), x.bytes()) == 0;
  };
  for (const DType dtype : {DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool})
    for (const int64_t n : {1025, 5000})
      for (const float spread : {0.6f, 100.0f}) {  // many equal elements, or few
        const Tensor wide = ops::abs(ops::randn({2, n, 2})) * spread;
        Tensor x = (is_float(dtype) && spread < 1 ? ops::floor(wide) : wide).to(dtype);
        if (is_float(dtype)) x = ops::where(wide > spread * 3, NAN, x);
        x.eval();
        for (const int64_t k : {int64_t{1}, int64_t{7}, n / 8})
          for (const bool largest : {true, false}) {
            const ops::TopK top = ops::topk(x, k, 1, largest);
            const Tensor order = ops::argsort(x, 1, largest).slice(1, {0, k});
            ASSERT_TRUE(same(top.indices, order))
                << name_of(dtype) << " " << n << " " << k << " " << largest;
            ASSERT_TRUE(same(top.values, ops::gather(x, order, 1)));
          }
      }
}

// What an order of many elements needs besides its input and result.
TEST(Order, NeedsLittleMemory) {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  const auto peak = [&](const std::function<Tensor(const Tensor&)>& order) {
    const Executor executor = Executor::from_config(config);
    const std::vector<float> values(2000000, 1.0f);
    order(Tensor::from_span(std::span<const float>(values), {2000000}, {}, executor)).eval();
    return executor.pool_statistics().peak_live_bytes;
  };
  constexpr uint64_t kElements = 2000000, kMore = 18 << 20;  // counts of digits
  EXPECT_LE(peak([](const Tensor& x) { return ops::sort(x); }), 2 * 4 * kElements + kMore);
  EXPECT_LE(peak([](const Tensor& x) { return ops::argsort(x); }), 2 * 8 * kElements + kMore);
  EXPECT_LE(peak([](const Tensor& x) { return ops::topk(x, 100).values; }), kMore);
}

TEST(Order, ManyRows) {
  const Tensor x = ops::randint(0, 2000, {4500, 1030}, DType::I16).eval();
  const Tensor sorted = ops::sort(x, 1).eval(), order = ops::argsort(x, 1).eval();
  EXPECT_TRUE(ops::all(sorted.slice(1, {0, -1}) <= sorted.slice(1, {1, {}})).item<bool>());
  EXPECT_TRUE(ops::all(sorted == ops::gather(x, order, 1)).item<bool>());
  const ops::TopK least = ops::topk(x, 3, 1, false);
  EXPECT_TRUE(ops::all(least.indices == order.slice(1, {0, 3})).item<bool>());
  EXPECT_TRUE(ops::all(least.values == sorted.slice(1, {0, 3})).item<bool>());
}

TEST(Order, RowsAndColumns) {
  const Tensor x = ops::randint(0, 50, {40, 300}, DType::I32).eval();
  const Tensor rows = ops::sort(x, 1), columns = ops::sort(x, 0, true);
  EXPECT_TRUE(ops::all(rows.slice(1, {0, -1}) <= rows.slice(1, {1, {}})).item<bool>());
  EXPECT_TRUE(ops::all(columns.slice(0, {0, -1}) >= columns.slice(0, {1, {}})).item<bool>());
  EXPECT_EQ(ops::sum(rows, 1).to_vector<int64_t>(), ops::sum(x, 1).to_vector<int64_t>());
}

TEST(Order, TopK) {
  const ops::TopK top = ops::topk(Tensor::from({3.0f, 9.0f, -1.0f, 9.0f}), 2);
  EXPECT_EQ(top.values.to_vector<float>(), (std::vector<float>{9, 9}));
  EXPECT_EQ(ints(top.indices), (Ints{1, 3}));
  EXPECT_THROW(ops::topk(counted({3}), 4), Error);
}

TEST(Order, SearchNonzeroUnique) {
  const Tensor sorted = Tensor::from({1.0f, 2.0f, 2.0f, 5.0f});
  const Tensor values = Tensor::from({0.0f, 2.0f, 9.0f});
  EXPECT_EQ(ints(ops::searchsorted(sorted, values)), (Ints{0, 1, 4}));
  EXPECT_EQ(ints(ops::searchsorted(sorted, values, ops::Side::Right)), (Ints{0, 3, 4}));
  EXPECT_EQ(ints(ops::nonzero(Tensor::from<int32_t>({0, 7, 0, 0, 1, 2}, {2, 3}))),
            (Ints{0, 1, 1, 1, 1, 2}));
  EXPECT_EQ(ops::nonzero(ops::zeros({3})).shape(), (Shape{0, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ops::Unique u = ops::unique(Tensor::from({2.0f, nan, 1.0f, 2.0f, nan}));
  EXPECT_EQ(u.values.size(), 3);
  EXPECT_EQ(ints(u.counts), (Ints{1, 2, 2}));
}

}  // namespace
}  // namespace hologram
