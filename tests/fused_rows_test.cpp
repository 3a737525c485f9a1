// Which reductions are of one kernel with what they are made of and what is made of them; that
// nothing of it shows in the results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string_view>

#include "fusion/kernel.hpp"

#include "hologram/hologram.hpp"
#include "scheduled.hpp"
#include "share.hpp"

namespace hologram {
namespace {

Executor processor(bool fusion = true) {
  return Executor::builder().backend(BackendType::Cpu).threads(2).fusion(fusion).build();
}

Tensor numbers(Shape shape, DType dtype, const Executor& executor) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(static_cast<size_t>(graph::element_count(shape)));
  for (float& v : values) v = normal(random);
  values[values.size() / 2] = -0.0f;
  return Tensor::from_vector(values, shape, executor).to(dtype).eval();
}

size_t steps(const Tensor& tensor) { return tests::Scheduled(tensor).steps().size(); }

// "interpreted: " and why, where the compiler of the processor takes it not.
bool is_compiled(const Tensor& tensor) {
  return explain(tensor).find("interpreted: ") == std::string::npos;
}

struct Work {
  const char* name;
  std::function<Tensor(const Tensor& x, int axis)> make;
};

const Work kWorks[] = {
    {"sum", [](const Tensor& x, int axis) { return ops::sum(x, axis); }},
    {"max", [](const Tensor& x, int axis) { return ops::max(x, axis); }},
    {"softmax", [](const Tensor& x, int axis) { return ops::softmax(x, axis); }},
    {"log_softmax", [](const Tensor& x, int axis) { return ops::log_softmax(x, axis); }},
    {"logsumexp", [](const Tensor& x, int axis) { return ops::logsumexp(x, axis); }},
    {"variance", [](const Tensor& x, int axis) { return ops::var(x, axis); }},
    {"what is left of the mean",
     [](const Tensor& x, int axis) {
       const auto count = static_cast<double>(x.size(axis));
       return (x - ops::sum(x, axis, true) / count) / ops::max(ops::abs(x), axis, true);
     }},
};

// Long rows that keep all threads busy are the work of one group each, which puts the pieces
// together; of a row alone they are others' work, too. Both have the same bits.
TEST(FusedRows, LongOnes) {
  using graph::kLongestGroupRow, graph::kMostGathered;
  const int64_t lengths[] = {kLongestGroupRow + 1,
                             20000,
                             3 * kLongestGroupRow,
                             128256,
                             kMostGathered * kLongestGroupRow,
                             kMostGathered * kLongestGroupRow + 1};
  tests::Share share;
  const Executor executor = processor();
  for (const DType dtype : {DType::F32, DType::F16, DType::F64, DType::I8})
    for (const int64_t length : lengths)
      for (const Work& work : kWorks) {
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message() << work.name << " of " << length << " " << name_of(dtype));
        const Tensor x = numbers({2, length}, dtype, executor);
        const Tensor all = work.make(x, -1);
        const bool few = length <= kMostGathered * kLongestGroupRow;
        // Pieces of a row are kernels there.
        const bool apart =
            std::string_view(work.name) == "logsumexp" && length <= 8 * kLongestGroupRow;
        if (few && !apart) EXPECT_EQ(steps(all), 1u);
        else EXPECT_GE(steps(all), 2u);
        EXPECT_EQ(is_compiled(all), is_compiled(x + 1));
        const Array got = all.array();
        for (int64_t row = 0; row < 2; row++) {
          const Array alone = work.make(x.slice(0, {row, row + 1}), -1).array();
          EXPECT_EQ(std::memcmp(got.data() + static_cast<size_t>(row) * alone.bytes(), alone.data(),
                                alone.bytes()),
                    0);
        }
      }
}

// Short ones: a lane walks each.
TEST(FusedRows, Columns) {
  tests::Share share;
  const Executor fused = processor(), apart = processor(false);
  for (const Shape& shape :
       {Shape{8, 1000}, {2, 7}, {64, 33}, {3, 5, 17}, {4, 19, 16, 16}, {5, 1, 9}})
    for (int axis = 0; axis + 1 < static_cast<int>(shape.size()); axis++)
      for (const DType dtype : {DType::F32, DType::F64, DType::I32})
        for (const Work& work : kWorks) {
          if (!share.next()) continue;
          const Tensor x = numbers(shape, dtype, fused);
          SCOPED_TRACE(testing::Message() << work.name << " along " << axis << " of " << x.size()
                                          << " " << name_of(dtype));
          const Tensor made = work.make(x, axis);
          EXPECT_EQ(steps(made), 1u);
          EXPECT_EQ(is_compiled(made), is_compiled(x + 1));
          const Array got = made.array(),
                      right = work.make(numbers(shape, dtype, apart), axis).array();
          ASSERT_EQ(got.bytes(), right.bytes());
          EXPECT_EQ(std::memcmp(got.data(), right.data(), got.bytes()), 0);
        }
}

// Sums of long columns of different functions of one tensor read it once.
TEST(FusedRows, SumsOfFunctionsOfOneTensor) {
  const Executor fused = processor(), apart = processor(false);
  static constexpr int64_t kRows = 3000, kMore = 4;
  const auto sums = [](const Tensor& x) {
    const Tensor g = x.slice(0, {0, kRows});
    std::vector<Tensor> all;
    for (int64_t k = 0; k < kMore; k++) all.push_back(ops::sum(x.slice(0, {k, k + kRows}) * g, 0));
    return ops::stack(all, 0);
  };
  for (const DType dtype : {DType::F32, DType::F64, DType::I32}) {
    SCOPED_TRACE(name_of(dtype));
    const Shape shape = {kRows + kMore, 40};
    const Tensor made = sums(numbers(shape, dtype, fused));
    EXPECT_EQ(steps(made), 1u + kMore);  // pieces of all sums at once, then each sum's
    const Array got = made.array(), right = sums(numbers(shape, dtype, apart)).array();
    ASSERT_EQ(got.bytes(), right.bytes());
    EXPECT_EQ(std::memcmp(got.data(), right.data(), got.bytes()), 0);
  }
}

// Columns too long for a lane, and those whose reductions somebody else wants, too.
TEST(FusedRows, WhatIsApart) {
  const Executor fused = processor(), apart = processor(false);
  const auto both = [](const Tensor& x) {
    const Tensor most = ops::max(x, 0, true), left = x - most;
    return ops::concat({left * 2, most, ops::exp(left)}, 0);
  };
  for (const Shape& shape : {Shape{65, 33}, {8, 100}, {300, 4}}) {
    const Array got = both(numbers(shape, DType::F32, fused)).array(),
                right = both(numbers(shape, DType::F32, apart)).array();
    EXPECT_EQ(std::memcmp(got.data(), right.data(), got.bytes()), 0);
  }
  EXPECT_GT(steps(ops::softmax(numbers({65, 33}, DType::F32, fused), 0)), 1u);
}

// What is cheap and made of fewer bytes than it has is computed by each kernel that uses it.
TEST(FusedRows, WhatIsReadInLessIsNotKept) {
  const Executor fused = processor(), apart = processor(false);
  const auto logs = [](const Tensor& x) { return ops::log_softmax(x.to(DType::F32), 1); };
  const Shape shape = {1, 200000};
  const Tensor made = logs(numbers(shape, DType::BF16, fused));
  EXPECT_EQ(steps(made), 5u);  // pieces and all of the largest, and of the sums; and the result
  const Array got = made.array(), right = logs(numbers(shape, DType::BF16, apart)).array();
  EXPECT_EQ(std::memcmp(got.data(), right.data(), got.bytes()), 0);
}

// One position a row of a constant fuses with what is around it.
TEST(FusedRows, ScatterIntoAConstant) {
  const Executor fused = processor(), apart = processor(false);
  const auto loss = [](const Tensor& x) {
    const Tensor classes =
        (ops::arange(0, 40, 1, DType::I64, x.executor()) * 7 % 50).reshape({40, 1});
    return ops::scatter(ops::zeros({40, 50}, DType::F32, x.executor()), classes, -1, 1) * x * 2;
  };
  const Tensor made = loss(numbers({40, 50}, DType::F32, fused));
  EXPECT_LE(steps(made), 4u);  // classes, positions, those that are looked up, and all of it
  const std::vector<float> got = made.to_vector<float>(),
                           x = numbers({40, 50}, DType::F32, fused).to_vector<float>();
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_EQ(got[i], i % 50 == i / 50 * 7 % 50 ? x[i] * -2 : 0) << i;
  EXPECT_EQ(loss(numbers({40, 50}, DType::F32, apart)).to_vector<float>(), got);
}

// What each walk over a row would compute again is made once and read; what is cheap, or waits in
// the memory of the result, is not. Which it is does not show.
TEST(FusedRows, CostlyElementsAreMadeOnce) {
  const Executor fused = processor(), apart = processor(false);
  const auto norm = [](const Tensor& x) {
    const Tensor d = x - ops::mean(x, -1, true);
    return d * ops::rsqrt(ops::mean(d * d, -1, true) + 1e-5);
  };
  const auto deep = [&](Tensor x) {
    for (int k = 0; k < 3; k++) x = ops::sigmoid(ops::silu(norm(ops::gelu(x))));
    return x;
  };
  const Tensor x = numbers({40, 300}, DType::F32, fused);
  const std::string said = explain(norm(ops::gelu(x)));
  EXPECT_EQ(steps(norm(ops::gelu(x))), 2u) << said;
  EXPECT_NE(
      said.find(
          "gelu [40, 300] f32 goes through memory: each walk over a row would compute it again"),
      std::string::npos)
      << said;
  EXPECT_EQ(steps(norm(x + 1)), 1u);
  EXPECT_EQ(steps(norm(ops::gelu(numbers({2, 30}, DType::F32, fused)))),
            1u);  // a launch costs more
  EXPECT_EQ(steps(ops::softmax(x, -1)), 1u);
  // All rows share the vector, but what saves little is not worth a kernel.
  const Tensor matrix = numbers({400, 300}, DType::F32, fused);
  const Tensor vector = numbers({300}, DType::F32, fused);
  EXPECT_EQ(steps(ops::sum(matrix * (vector * vector * 2), 1)), 2u);
  EXPECT_EQ(steps(ops::sum(matrix * (vector * 2), 1)), 1u);
  EXPECT_LE(steps(deep(x)), 7u);
  const Array got = deep(x).array(), right = deep(numbers({40, 300}, DType::F32, apart)).array();
  EXPECT_EQ(std::memcmp(got.data(), right.data(), got.bytes()), 0);
}

// Rows that are read in pieces, of numbers of any size and none.
TEST(FusedRows, LogsumexpOfLongRowsIsRight) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Executor fused = processor(), apart = processor(false);
  for (const int64_t n : {int64_t{16385}, int64_t{32000}, int64_t{50257}}) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0, 30);
    std::vector<double> values(static_cast<size_t>(6 * n));
    for (double& v : values) v = normal(random);
    const auto row = [&](int64_t r) { return values.begin() + static_cast<std::ptrdiff_t>(r * n); };
    std::fill_n(row(0), n, -kInfinity);
    std::fill_n(row(1), n / 2 + 1, -kInfinity);
    *(row(2) + 5) = kInfinity;
    *(row(3) + 6) = std::nan("");
    std::for_each(row(4), row(5), [](double& v) { v -= 1e6; });
    for (const DType dtype : {DType::F32, DType::F64}) {
      const auto made = [&](const Executor& on) {
        const Tensor x = Tensor::from_vector(values, {6, n}, on).to(dtype);
        return std::pair(x.to(DType::F64).to_vector<double>(),
                         ops::logsumexp(x, -1).to(DType::F64).to_vector<double>());
      };
      const auto [x, got] = made(fused);
      for (int64_t r = 0; r < 6; r++) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(r * n);
        double most = -kInfinity, sum = 0;
        for (int64_t i = 0; i < n; i++) most = std::max(most, begin[i]);
        if (!std::isfinite(most)) most = 0;
        for (int64_t i = 0; i < n; i++) sum += std::exp(begin[i] - most);
        const double right = std::log(sum) + most, there = got[static_cast<size_t>(r)];
        if (!std::isfinite(right)) {
          EXPECT_TRUE(right == there || (std::isnan(right) && std::isnan(there))) << right << there;
          continue;
        }
        EXPECT_NEAR(there, right, std::abs(right) * (dtype == DType::F32 ? 1e-6 : 1e-12)) << r;
      }
      const std::vector<double> other = made(apart).second;
      EXPECT_EQ(std::memcmp(got.data(), other.data(), got.size() * sizeof(double)), 0);
    }
  }
}

}  // namespace
}  // namespace hologram
