// Activations as bytes: the rule by an independent calculation, products with every type of blocks,
// whose bits are the same on every device and by the instructions of every processor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/parallel.hpp"
#include "hologram/ops.hpp"
#include "libraries/blocks/blocks.hpp"
#include "llm/block_rows.hpp"
#include "llm/places.hpp"
#include "llm/weight.hpp"

namespace hologram::llm {
namespace {

using Desc = hal::BytesDesc;
using libraries::blocks::kernels;
using libraries::blocks::Kernels;

// What docs/adr/0009-byte-activations.md says, in f64, whose results are rounded to f32 one by one.
std::vector<uint32_t> rounded(const std::vector<float>& x) {
  std::vector<uint32_t> words;
  const auto bits = [](float number) {
    uint32_t word = 0;
    std::memcpy(&word, &number, 4);
    return word;
  };
  for (size_t begin = 0; begin < x.size(); begin += 32) {
    double amax = 0;
    bool finite = true;
    for (size_t i = begin; i < begin + 32; i++) {
      finite = finite && std::isfinite(x[i]);
      amax = std::max(amax, std::fabs(double{x[i]}));
    }
    const bool zero = !finite || amax < std::ldexp(1.0, -100);
    const float inverse = zero ? 0 : static_cast<float>(127.0 / amax);
    int sums[2] = {};
    uint32_t packed[8] = {};
    for (size_t i = 0; i < 32; i++) {
      const float scaled = zero ? 0 : static_cast<float>(double{x[begin + i]} * inverse);
      const int q = static_cast<int>(std::nearbyint(scaled));
      sums[i / 16] += q;
      packed[i / 4] |= static_cast<uint32_t>(q & 255) << i % 4 * 8;
    }
    float scale = zero ? 0 : static_cast<float>(amax * double{static_cast<float>(1.0 / 127.0)});
    if (!finite) scale = std::numeric_limits<float>::quiet_NaN();
    words.insert(words.end(), packed, packed + 8);
    words.push_back(bits(scale));
    words.push_back(bits(static_cast<float>(double{scale} * (sums[0] + sums[1]))));
    words.push_back(static_cast<uint32_t>(sums[0]));
    words.push_back(static_cast<uint32_t>(sums[1]));
  }
  return words;
}
// With one NaN for all.
std::vector<uint32_t> with_one_nan(std::vector<uint32_t> words) {
  for (size_t i = 0; i < words.size(); i++)
    if (const size_t place = i % Desc::kWords; place == Desc::kScale || place == Desc::kScaledSum)
      if ((words[i] & 0x7fffffff) > 0x7f800000) words[i] = 0x7fc00000;
  return words;
}

// Blocks of many sizes, with halves of steps among them, and of special numbers.
std::vector<float> numbers_to_round() {
  std::vector<float> x = tests::numbers(64 * 32);
  for (size_t b = 0; b < 64; b++)
    for (size_t i = 0; i < 32; i++)
      x[b * 32 + i] = std::ldexp(x[b * 32 + i], static_cast<int>(b) * 4 - 140);
  const size_t first = x.size();
  x.resize(first + size_t{6} * 32);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < 32; i++) {
    x[first + i] = 0;
    x[first + 32 + i] = i % 2 == 0 ? -0.0f : 0x1p-149f;
    x[first + 64 + i] = i == 5 ? kInf : static_cast<float>(i);
    x[first + 96 + i] = i == 31 ? std::nanf("") : -1;
    // Ties: the step is 1.
    x[first + 128 + i] = i == 0 ? 127 : static_cast<float>(i) - 15.5f;
    x[first + 160 + i] = i == 7 ? -std::numeric_limits<float>::max() : 1e38f;
  }
  return x;
}

class Bytes : public tests::OnPlaces {
 protected:
  Tensor tensor(const std::vector<float>& x, int64_t m) const {
    return Tensor::from_vector(x, {m, static_cast<int64_t>(x.size()) / m}, executor());
  }
};

TEST_P(Bytes, AreWhatTheRuleSays) {
  const std::vector<float> x = numbers_to_round();
  const std::vector<uint32_t> want = with_one_nan(rounded(x));
  const std::vector<uint32_t> got =
      with_one_nan(Factor(tensor(x, 2)).bytes().to_vector<uint32_t>());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); i++)
    ASSERT_EQ(got[i], want[i]) << "block " << i / Desc::kWords << ", word " << i % Desc::kWords;
}

// In the memory of the host.
template <class T>
class Memory {
 public:
  explicit Memory(std::vector<T> values)
      : values_(std::move(values)),
        buffer_(reinterpret_cast<std::byte*>(values_.data()), values_.size() * sizeof(T)) {}
  hal::Binding where() { return {&buffer_, 0, buffer_.size()}; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  hal::HostBuffer buffer_;
};

TEST(BytesByKernels, RoundAlike) {
  const std::vector<float> x = numbers_to_round();
  for (const Kernels* const one : kernels()) {
    Memory<float> from(x);
    Memory<uint32_t> to(std::vector<uint32_t>(x.size() / 32 * Desc::kWords));
    core::Threads threads(2);
    const hal::Binding operands[] = {from.where(), to.where()};
    libraries::blocks::plan(Desc{2, static_cast<int64_t>(x.size()) / 2}, *one)
        ->run(operands, {}, threads);
    EXPECT_EQ(with_one_nan(to.values()), with_one_nan(rounded(x))) << one->name;
  }
}

std::vector<float> by_kernels(const Kernels& by, const Weight& w, const std::vector<float>& x,
                              const std::vector<int32_t>& which = {}) {
  const auto m = static_cast<int64_t>(x.size()) / w.columns;
  Memory<uint32_t> factor(rounded(x)), words(w.data.to_vector<uint32_t>());
  Memory<int32_t> chosen(which);
  Memory<float> y(std::vector<float>(static_cast<size_t>(m * w.rows), -1));
  core::Threads threads(2);
  const auto plan = libraries::blocks::plan(
      hal::BlocksDesc{w.type->name, m, w.rows, w.columns, w.count, !which.empty()}, by);
  std::vector<hal::Binding> operands = {factor.where(), words.where()};
  if (!which.empty()) operands.push_back(chosen.where());
  operands.push_back(y.where());
  plan->run(operands, {}, threads);
  return y.values();
}

// Beside a plain sum in f64 of the decoded numbers and the rounded x.
void expect_near(const std::vector<float>& y, const std::vector<float>& x,
                 const tests::BlockMatrixOf& a, const std::vector<int32_t>& which = {}) {
  const std::vector<uint32_t> words = rounded(x);
  const auto columns = static_cast<size_t>(a.weight.columns),
             rows = static_cast<size_t>(a.weight.rows);
  const auto number = [&](size_t at) {
    const uint32_t* const block = words.data() + at / 32 * Desc::kWords;
    float scale = 0;
    std::memcpy(&scale, block + Desc::kScale, 4);
    return double{scale} * static_cast<int8_t>(block[at % 32 / 4] >> at % 4 * 8);
  };
  for (size_t i = 0; i < y.size() / rows; i++)
    for (size_t r = 0; r < rows; r++) {
      const size_t of = which.empty() ? 0 : static_cast<size_t>(which[i]);
      double sum = 0, size = 0;
      for (size_t k = 0; k < columns; k++) {
        const double weight = a.numbers[(of * rows + r) * columns + k];
        sum += weight * number(i * columns + k);
        size += std::fabs(weight * number(i * columns + k));
      }
      ASSERT_NEAR(y[i * rows + r], sum, size * 2e-6)
          << a.weight.type->name << ", row " << i << ", output " << r;
    }
}

TEST(BytesByKernels, HaveTheSameBitsByAllInstructions) {
  const Executor executor(BackendType::Cpu);
  ASSERT_EQ(kernels().back()->name, "plain");
  for (const tests::BlockRow& row : tests::kBlockRows)
    for (const int64_t rows : {1, 31, 45, 64}) {
      const tests::BlockMatrixOf a = tests::block_matrix(row, rows, 512, 1, executor);
      for (const int64_t m : {1, 2, 7, 8, 17}) {
        const std::vector<float> x = tests::numbers(m * 512);
        const std::vector<float> want = by_kernels(*kernels().back(), a.weight, x);
        expect_near(want, x, a);
        for (const Kernels* const one : kernels())
          ASSERT_EQ(by_kernels(*one, a.weight, x), want)
              << row.name << " by " << one->name << ", " << rows << " rows, m = " << m;
      }
    }
}

TEST_P(Bytes, HaveTheSameBitsOnAllDevices) {
  for (const tests::BlockRow& row : tests::kBlockRows) {
    if (is_slow() && std::strcmp(row.name, "Q4_0") != 0 && std::strcmp(row.name, "Q6_K") != 0 &&
        std::strcmp(row.name, "IQ4_NL") != 0 && std::strcmp(row.name, "Q4_1") != 0)
      continue;
    // Few blocks, and so many that a row has parts of several.
    for (const int64_t columns : {256, 2816}) {
      tests::BlockMatrixOf a = tests::block_matrix(row, 45, columns, 1, executor());
      a.weight.by_bytes = true;
      for (const int64_t m : {1, 2, 3, 8, 17}) {
        if (is_slow() && m > 3) continue;
        const std::vector<float> x = tests::numbers(m * columns);
        ASSERT_EQ(product(tensor(x, m), a.weight).to_vector<float>(),
                  by_kernels(libraries::blocks::plain_kernels(), a.weight, x))
            << row.name << ", " << columns << " columns, m = " << m;
      }
    }
  }
}

// Groups that run at once have workgroup memory of their own, however long the kernel is.
TEST_P(Bytes, GroupsAtOnceDoNotMeet) {
  tests::BlockMatrixOf a = tests::block_matrix(tests::kBlockRows[9], 45, 2816, 1, executor());
  ASSERT_STREQ(tests::kBlockRows[9].name, "Q6_K");
  a.weight.by_bytes = true;
  const std::vector<float> x = tests::numbers(2 * 2816);
  const std::vector<float> want = by_kernels(libraries::blocks::plain_kernels(), a.weight, x);
  for (int i = 0; i < (is_slow() ? 40 : 4); i++)
    ASSERT_EQ(product(tensor(x, 2), a.weight).to_vector<float>(), want) << i;
}

// Where there is a limit of time processors run the programs, too: here compiled.
TEST(BytesByPrograms, HaveTheSameBitsCompiled) {
  const Executor executor = ExecutorBuilder()
                                .backend(BackendType::Cpu)
                                .jit(Jit::Always)
                                .threads(2)
                                .timeout_ms(600000)
                                .build();
  for (const tests::BlockRow& row : tests::kBlockRows) {
    tests::BlockMatrixOf a = tests::block_matrix(row, 45, 768, 1, executor);
    a.weight.by_bytes = true;
    for (const int64_t m : {1, 3}) {
      const std::vector<float> x = tests::numbers(m * 768);
      const Factor factor(Tensor::from_vector(x, {m, 768}, executor));
      ASSERT_EQ(factor.bytes().to_vector<uint32_t>(), rounded(x)) << row.name;
      ASSERT_EQ(product(factor, a.weight).to_vector<float>(),
                by_kernels(libraries::blocks::plain_kernels(), a.weight, x))
          << row.name << ", m = " << m;
    }
  }
}

TEST_P(Bytes, ChooseAmongMatrices) {
  if (is_slow()) GTEST_SKIP() << "it takes a minute there";
  for (const tests::BlockRow& row : {tests::kBlockRows[0], tests::kBlockRows[7]}) {
    tests::BlockMatrixOf a = tests::block_matrix(row, 40, 256, 3, executor());
    a.weight.by_bytes = true;
    const std::vector<int32_t> which = {2, 0, 0, 1, 2};
    const std::vector<float> x = tests::numbers(5 * 256);
    const std::vector<float> y =
        chosen_product(tensor(x, 5), a.weight, Tensor::from_vector(which, {5}, executor()))
            .to_vector<float>();
    expect_near(y, x, a, which);
    EXPECT_EQ(y, by_kernels(libraries::blocks::plain_kernels(), a.weight, x, which));
  }
}

// Of what rounding x changes, as a share: 2e-4 of the squares of normal numbers.
TEST(BytesByKernels, AreNearTheExactProduct) {
  const Executor executor(BackendType::Cpu);
  for (const tests::BlockRow& row : tests::kBlockRows) {
    tests::BlockMatrixOf a = tests::block_matrix(row, 64, 512, 1, executor);
    const Tensor x = Tensor::from_vector(tests::numbers(4 * 512), {4, 512}, executor);
    const std::vector<float> exact = product(x, a.weight).to_vector<float>();
    a.weight.by_bytes = true;
    const std::vector<float> bytes = product(x, a.weight).to_vector<float>();
    double lost = 0, all = 0;
    for (size_t i = 0; i < exact.size(); i++) {
      lost += std::pow(double{bytes[i]} - exact[i], 2);
      all += std::pow(double{exact[i]}, 2);
    }
    EXPECT_LT(lost, all * 2e-4) << row.name;
    EXPECT_GT(lost, 0) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(On, Bytes, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace hologram::llm
