// Sums of rows, and of a matrix times a vector, on the processor, bit for bit: what kernels of our
// own compute, compiled programs and the interpreter; and sums of columns against plain loops.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cpu_executor.hpp"
#include "hologram/hologram.hpp"
#include "libraries/accumulation.hpp"
#include "libraries/packed/rows.hpp"
#include "share.hpp"

namespace hologram {
namespace {

// Zeros of both signs, and now and then a row of nothing else.
std::vector<float> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  for (size_t i = 0; i < count; i += 7) values[i] = random() % 2 == 0 ? 0.0f : -0.0f;
  return values;
}

void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
        << i << ": " << a[i] << " and " << b[i];
  }
}

struct Way {
  const char* name;
  Executor executor;
};
const std::vector<Way>& ways() {
  static const auto* all = new std::vector<Way>{
      {"the interpreter", cpu(1, Jit::Off, false)},
      {"compiled", cpu(1, Jit::Always, false)},
      {"compiled, 3 threads", cpu(3, Jit::Always, false)},
      {"our own", cpu(1, Jit::On, true)},
      {"our own, 2 threads", cpu(2, Jit::On, true)},
      {"our own, 3 threads", cpu(3, Jit::On, true)},
  };
  return *all;
}

template <class Make>
void expect_same_everywhere(const std::vector<float>& a, const Shape& of_a,
                            const std::vector<float>& x, const Shape& of_x, Make make) {
  std::vector<float> first;
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const Tensor result = make(Tensor::from_vector(a, of_a, way.executor),
                               Tensor::from_vector(x, of_x, way.executor));
    const std::vector<float> values = result.to_vector<float>();
    if (first.empty()) first = values;
    else expect_same(first, values);
  }
}

constexpr int64_t kLengths[] = {
    65,   66,   79,   80,   81,   111,  112,  113,  127,  128,  129,  143,   144,   145,  255,
    256,  257,  300,  316,  317,  320,  513,  1000, 2032, 2047, 2048, 2049,  2064,  2303, 2304,
    2305, 4095, 4096, 4097, 4111, 4352, 5000, 8191, 8192, 8193, 9000, 16383, 16384, 16385};

TEST(RowProducts, SameBitsOfEveryLength) {
  tests::Share share;
  for (const int64_t length : kLengths)
    for (const int64_t rows : {2, 3, 8, 9, 37, 150}) {
      if (rows * length > 400000) continue;
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << rows << " x " << length);
      const auto n = static_cast<size_t>(length);
      std::vector<float> a = numbers(static_cast<size_t>(rows) * n, 1), x = numbers(n, 2);
      for (size_t i = 0; i < n; i++) a[n + i] = x[i] < 0 ? 0.0f : -0.0f;  // all products are -0
      expect_same_everywhere(a, {rows, length}, x, {length},
                             [](const Tensor& m, const Tensor& v) { return ops::matmul(m, v); });
    }
}

// Where rows go side by side.
TEST(RowProducts, SameBitsOfLargeMatrices) {
  for (const auto& [rows, length] : {std::pair<int64_t, int64_t>{4219, 1003}, {997, 4243}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << length);
    const auto n = static_cast<size_t>(length);
    std::vector<float> a = numbers(static_cast<size_t>(rows) * n, 21), x = numbers(n, 22);
    for (size_t i = 0; i < n; i++) a[n + i] = x[i] < 0 ? 0.0f : -0.0f;  // all products are -0
    expect_same_everywhere(a, {rows, length}, x, {length},
                           [](const Tensor& m, const Tensor& v) { return ops::matmul(m, v); });
  }
}

// Rows alone, and with rows of another matrix; long ones are added up in pieces, the last of which
// is shorter.
TEST(RowProducts, SameBitsOfSums) {
  tests::Share share;
  std::vector<int64_t> lengths(std::begin(kLengths), std::end(kLengths));
  lengths.insert(lengths.end(), {20000, 32768, 100000, 131073});
  for (const int64_t length : lengths)
    for (const int64_t rows : {1, 2, 7, 60}) {
      if (rows * length > 400000) continue;
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << rows << " x " << length);
      const auto n = static_cast<size_t>(length), all = static_cast<size_t>(rows) * n;
      std::vector<float> a = numbers(all, 14), x = numbers(all, 15);
      for (size_t i = 0; i < n; i++) {
        a[all - n + i] = -0.0f;
        x[i] = a[i] < 0 ? 0.0f : -0.0f;  // all products are -0
      }
      const Shape shape = {rows, length};
      const auto everywhere = [&](auto make) { expect_same_everywhere(a, shape, x, shape, make); };
      everywhere([](const Tensor& m, const Tensor&) { return ops::sum(m, -1); });
      everywhere([](const Tensor& m, const Tensor& o) { return ops::sum(m * o, -1); });
      everywhere([](const Tensor& m, const Tensor&) { return ops::sum(m * m); });
      everywhere([](const Tensor& m, const Tensor& o) {
        return ops::sum(m.slice(0, {0, {}, 2}) * o.slice(0, {0, 1}), -1);
      });
    }
}

// Rows that begin anywhere in memory, so far apart, and vectors that do.
TEST(RowProducts, SameBitsOfParts) {
  tests::Share share;
  for (const int64_t width : {130, 131, 132, 136, 144, 160, 320, 2500}) {
    const int64_t rows = 70;
    const std::vector<float> a = numbers(static_cast<size_t>(rows * width), 3),
                             x = numbers(static_cast<size_t>(width), 4);
    for (const int64_t from : {0, 1, 3, 4, 7, 15, 16, 17})
      for (const int64_t cut : {0, 1, 5, 16, 33}) {
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message() << width << " from " << from << " without " << cut);
        expect_same_everywhere(a, {rows, width}, x, {width}, [&](const Tensor& m, const Tensor& v) {
          return ops::matmul(m.slice({{from % 3, {}}, {from, width - cut}}),
                             v.slice(0, {cut, width - from}));
        });
        expect_same_everywhere(a, {rows, width}, x, {width}, [&](const Tensor& m, const Tensor&) {
          return ops::sum(m.slice({{from % 3, {}}, {from, width - cut}}), -1);
        });
        expect_same_everywhere(a, {rows, width}, x, {width}, [&](const Tensor& m, const Tensor& v) {
          return ops::matmul(v.slice(0, {from, width - cut}),
                             m.slice({{{}, {}, 2}, {from, width - cut}}).transpose());
        });
      }
  }
}

TEST(RowProducts, SameBitsOfBatches) {
  const std::vector<float> a = numbers(5 * 40 * 200, 5), x = numbers(5 * 200, 6);
  expect_same_everywhere(a, {5, 40, 200}, x, {5, 200, 1},
                         [](const Tensor& m, const Tensor& v) { return ops::matmul(m, v); });
  expect_same_everywhere(a, {5, 40, 200}, x, {5, 200, 1}, [](const Tensor& m, const Tensor& v) {
    return ops::matmul(m.slice({{}, {1, 38, 3}}), v.slice(0, {2, 3}));
  });
  expect_same_everywhere(a, {5, 40, 200}, x, {5, 200}, [](const Tensor& m, const Tensor& v) {
    return ops::matmul(m.permute({1, 0, 2}).slice(1, {1, 4}), v.select(0, 1));
  });
}

TEST(RowProducts, SpecialValues) {
  std::vector<float> a = numbers(64 * 333, 7), x = numbers(333, 8);
  const float infinity = std::numeric_limits<float>::infinity();
  // In rows beside those that they belong to nothing must be seen of them.
  for (size_t i = 0; i < 64; i += 3) {
    a[i * 333] = i % 2 == 0 ? infinity : std::numeric_limits<float>::quiet_NaN();
    a[i * 333 + 332] = -infinity;
  }
  x[5] = 1e-42f;
  x[100] = 3e38f;
  expect_same_everywhere(a, {64, 333}, x, {333},
                         [](const Tensor& m, const Tensor& v) { return ops::matmul(m, v); });
}

// Those that are the fastest on other processors, too.
TEST(RowProducts, SameBitsOfAllKernels) {
  tests::Share share;
  namespace packed = libraries::packed;
  const auto all = packed::all_row_kernels();
  if (all.empty()) GTEST_SKIP() << "they are for AVX2";
  using Reach = packed::RowKernels::Reach;
  using Lanes = packed::RowKernels::Lanes;
  constexpr int64_t kRows = 29, kFrom = 5;
  for (const int64_t length : kLengths) {
    if (!share.next()) continue;
    SCOPED_TRACE(length);
    const int64_t step = length + 3;
    const std::vector<float> a = numbers(static_cast<size_t>(kFrom + kRows * step), 31),
                             x = numbers(static_cast<size_t>(kFrom + kRows * step), 32);
    const auto expect_same_of = [&](Lanes packed::RowKernels::*lanes, Reach Lanes::*reach,
                                    int64_t step_x) {
      std::vector<float> first;
      for (const packed::RowKernels& kernels : all)
        for (packed::Rows* rows : {(kernels.*lanes.*reach).near, (kernels.*lanes.*reach).far}) {
          std::vector<float> y(kRows);
          rows(a.data() + kFrom, step, x.data() + kFrom, step_x, kRows, length, y.data());
          if (first.empty()) first = y;
          else expect_same(first, y);
        }
    };
    for (const auto lanes : {&packed::RowKernels::few, &packed::RowKernels::many}) {
      if (lanes == &packed::RowKernels::few && length > packed::kRun * packed::kFewLanes) continue;
      expect_same_of(lanes, &Lanes::sums, 0);
      expect_same_of(lanes, &Lanes::products, step);
      expect_same_of(lanes, &Lanes::by_vector, 0);
    }
  }
}

TEST(RowProducts, OurOwnKernelsAreUsedWhereTheyAreAlone) {
  if (libraries::packed::row_kernels() == nullptr) GTEST_SKIP() << "they are for AVX2";
  const Executor executor = cpu(1, Jit::On, true);
  const auto calls = [&](const auto& work) {
    const uint64_t before = executor.counters().library_calls;
    work().eval();
    return executor.counters().library_calls - before;
  };
  const Tensor a = Tensor::from_vector(numbers(50 * 300, 9), {50, 300}, executor),
               x = Tensor::from_vector(numbers(300, 10), {300}, executor);
  EXPECT_EQ(calls([&] { return ops::matmul(a, x); }), 1u);
  EXPECT_EQ(calls([&] { return ops::sum(x * a, -1); }), 1u);
  EXPECT_NE(explain({ops::matmul(a, x)}).find("by hologram f32 rows"), std::string::npos);
  EXPECT_EQ(calls([&] { return ops::matmul(a, x) + 1; }), 0u) << "the rest is fused with it";
  EXPECT_EQ(calls([&] { return ops::sum(a, -1); }), 1u);
  EXPECT_EQ(calls([&] { return ops::sum(a * a, -1); }), 1u);
  EXPECT_EQ(calls([&] { return ops::sum(a * a + a, -1); }), 0u);
  EXPECT_EQ(calls([&] { return ops::sum(ops::abs(a), -1); }), 0u);
  EXPECT_EQ(calls([&] { return ops::sum(a.to(DType::F64), -1); }), 0u);
  EXPECT_EQ(calls([&] { return ops::matmul(a.to(DType::F64), x.to(DType::F64)); }), 0u);
}

// Rows that compiled programs add up: what is left of one is a few vectors.
// A bias and what follows it are a kernel behind a large product, and part of a small one.
TEST(RowProducts, OfLargeMatricesAreLeftToOurOwnKernels) {
  if (libraries::packed::refuses(
          hal::RowReduceDesc{.dtype = DType::F32, .lanes = libraries::packed::kManyLanes}))
    GTEST_SKIP() << "this processor has none";
  const auto layer = [](const Tensor& a, const Tensor& x, const Tensor& bias) {
    return ops::relu(ops::matmul(x, a.transpose()) + bias);
  };
  for (const int64_t rows : {int64_t{64}, int64_t{1024}}) {
    SCOPED_TRACE(rows);
    const Shape of_a = {rows, 512}, of_x = {1, 512};
    const std::vector<float> a = numbers(static_cast<size_t>(rows) * 512, 1), x = numbers(512, 2);
    const auto make = [&](const Tensor& matrix, const Tensor& vector) {
      return layer(matrix, vector, ops::ones({rows}, DType::F32, matrix.executor()));
    };
    expect_same_everywhere(a, of_a, x, of_x, make);
    const Executor executor = cpu(1, Jit::On, true);
    const Tensor made = make(Tensor::from_vector(a, of_a, executor).eval(),
                             Tensor::from_vector(x, of_x, executor).eval());
    EXPECT_EQ(explain({made}).find("by hologram f32 rows") != std::string::npos, rows > 64);
  }
}

TEST(RowProducts, CompiledRowsOfEveryType) {
  tests::Share share;
  const Executor off = cpu(1, Jit::Off, false);
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
    for (const int64_t length : kLengths) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(dtype) << ' ' << length);
      const std::vector<float> values = numbers(static_cast<size_t>(5 * length), 11);
      for (const Executor& compiled : {cpu(1, Jit::Always, false), cpu(2, Jit::Always, false)}) {
        const auto rows = [&](const Executor& executor, bool squares) {
          const Tensor x = Tensor::from_vector(values, {5, length}, executor).to(dtype);
          const Tensor sums = squares ? ops::sum(x * x - x, -1) : ops::sum(x, -1);
          return sums.to(DType::F32).to_vector<float>();
        };
        for (const bool squares : {false, true})
          expect_same(rows(off, squares), rows(compiled, squares));
      }
    }
}

// Rows that a lane each walks, side by side: a few elements at a time, and what is left of them.
TEST(RowProducts, ShortRowsSideBySide) {
  tests::Share share;
  constexpr int64_t kRows = 300;
  const Executor off = cpu(1, Jit::Off, false);
  for (const DType dtype : {DType::I32, DType::F16, DType::F32, DType::F64})
    for (const int64_t length : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 19, 20, 31, 32, 33, 50, 63, 64}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(dtype) << ' ' << length);
      const std::vector<float> values = numbers(static_cast<size_t>(kRows * length), 14);
      const auto results = [&](const Executor& executor) {
        const Tensor x = Tensor::from_vector(values, {kRows, length}, executor).to(dtype).eval();
        const Tensor y = x.to(DType::F32);
        const Tensor most = ops::max(x, -1, true);
        std::vector<float> all;
        for (const Tensor& t :
             {ops::sum(x, -1), x - most, ops::softmax(y, -1), y - ops::mean(y, -1, true),
              ops::var(y, -1), ops::sum(x.slice(0, {5, 30}), -1),
              ops::sum(x * x.select(0, 0), -1)}) {
          const auto some = t.to(DType::F32).to_vector<float>();
          all.insert(all.end(), some.begin(), some.end());
        }
        return all;
      };
      const std::vector<float> expected = results(off);
      expect_same(expected, results(cpu(1, Jit::Always, false)));
      expect_same(expected, results(cpu(2, Jit::Always, true)));
    }
}

TEST(ColumnProducts, SameBitsAsPlainLoops) {
  tests::Share share;
  constexpr int64_t kBlock = libraries::kTermsOfBlock;
  for (const int64_t columns : {15, 16, 17, 127, 128, 129, 140, 316, 383, 384, 385, 400, 700, 1200})
    for (const int64_t terms : std::initializer_list<int64_t>{1, 2, 200, kBlock - 1, kBlock,
                                                              kBlock + 1, 2 * kBlock, 700}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << terms << " x " << columns);
      const std::vector<float> b = numbers(static_cast<size_t>(terms * (columns + 3)), 12),
                               x = numbers(static_cast<size_t>(terms), 13);
      std::vector<float> expected;
      for (int64_t j = 0; j < columns; j++) {
        float total = 0;
        for (int64_t first = 0; first < terms; first += kBlock) {
          float part = 0;
          for (int64_t p = first; p < std::min(terms, first + kBlock); p++)
            part = std::fma(x[static_cast<size_t>(p)],
                            b[static_cast<size_t>(p * (columns + 3) + j + 2)], part);
          total += part;
        }
        expected.push_back(total);
      }
      for (const Way& way : ways()) {
        SCOPED_TRACE(way.name);
        const Tensor m = Tensor::from_vector(b, {terms, columns + 3}, way.executor),
                     v = Tensor::from_vector(x, {terms}, way.executor);
        expect_same(expected, ops::matmul(v, m.slice(1, {2, columns + 2})).to_vector<float>());
      }
    }
}

}  // namespace
}  // namespace hologram
