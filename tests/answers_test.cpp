// Expressions whose answers were wrong once, and others of their kinds: one table, computed in
// every way there is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/elementwise.hpp"
#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"
#include "tensor/access.hpp"

namespace hologram {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Answer {
  const char* text;
  std::vector<double> right;
  double within = 0;  // of it
};

// Casts to narrow integers wrap, whether or not their result goes through memory.
const std::vector<Answer> kNarrowCasts = {
    {"cast(cast([300, -1], u8), i32)", {44, 255}},
    {"cast([32768], i16) * 1.0", {-32768}},
    {"cast([300, 65541], u8) * 1.0", {44, 5}},
    {"sum(cast([300, 65541], u8))", {49}},
    {"mean(cast([300, 65541], u8))", {24.5}},
    {"cast([300, 65541], u8) // 2", {22, 2}},
    {"argmax(cast([256, 5], u8))", {1}},
    {"take([10, 20, 30], cast([300, 256 + 1], u8) % 3)", {30, 20}},
    {"abs(cast(cast([128], i8), i32))", {128}},
    {"cast(cast(cast([-1, 200], i8), u16), i64)", {65535, 65480}},
    {"cast(cast([65536 + 7, -9], u16), i64)", {7, 65527}},
    {"cast(cast(cast([4294967295], u32), i16), f32)", {-1}},
    {"cast(cast([300.7, -5.0], u8), i32)", {255, 0}},
    {"cast(300, u8) + cast(0, i32)", {44}},
    {"where(cast(cast([256, 1], u8), bool), 1, 2) + 0", {2, 1}},
};

// What is combined with the result of an empty reduction keeps its elements.
const std::vector<Answer> kEmptyReductions = {
    {"sum(zeros([0, 3]), axis=0) + [1, 2, 3]", {1, 2, 3}},
    {"prod(zeros([3, 0]), axis=1) * [1, 2, 3]", {1, 2, 3}},
    {"any(zeros([3, 0]), axis=1) or [0, 0, 1] > 0", {0, 0, 1}},
    {"sum(zeros([3, 0]), axis=1) + arange(3)", {0, 1, 2}},
    {"norm(zeros([3, 0]), 2, 1) + [1, 2, 3]", {1, 2, 3}},
    {"gemv(zeros([3, 0]), zeros([0]), cast([1, 2, 3], f32), 1, 2)", {2, 4, 6}},
    {"sum(zeros([2, 0, 3]), axis=1) + reshape(arange(6), [2, 3])", {0, 1, 2, 3, 4, 5}},
    {"mean(zeros([3, 0]), axis=1) * [1, 2, 3]", {kNan, kNan, kNan}},
    {"matmul(zeros([2, 0]), zeros([0, 3])) + [1, 2, 3]", {1, 2, 3, 1, 2, 3}},
};

// Finite where the result is.
const std::vector<Answer> kStatistics = {
    {"norm([1e20, 1, 1])", {1e20}, 1e-6},
    {"norm([3e-30, 4e-30])", {5e-30}, 1e-6},
    {"norm([1e13, 1e13], 3)", {1.2599210498948732e13}, 1e-5},
    {"norm([1e-20, 1e-20], -3)", {7.937005259840998e-21}, 1e-5},
    {"norm(zeros([5]))", {0}},
    {"norm([inf, 1.0])", {kInfinity}},
    {"norm(cast([3e200, 4e200], f64))", {5e200}, 1e-15},
    {"norm(full([70000], 1e20))", {2.6457513110645906e22}, 1e-6},
    {"norm(full([3, 70000], 1e20), 2, 1) / 2.6457513e22", {1, 1, 1}, 1e-6},
    {"norm(full([700, 3], 1e20), 2, 0) / 2.6457513e21", {1, 1, 1}, 1e-6},
    {"norm(full([3, 700], 1e-25), 2, 1) / 2.6457513e-24", {1, 1, 1}, 1e-6},
    {"std([1e20, 2e20, 3e20, 4e20])", {1.118033988749895e20}, 1e-6},
    {"std([1e-30, 2e-30, 3e-30, 4e-30])", {1.118033988749895e-30}, 1e-6},
    {"std([3e38, -3e38])", {3e38}, 1e-6},
    {"mean([3e38, 3e38])", {3e38}, 1e-6},
    {"mean([3e38, 2e38, 1e38])", {2e38}, 1e-6},
    {"mean(full([40000], 3e38))", {3e38}, 1e-7},
    {"mean(full([3, 40000], 3e38), 1) / 3e38", {1, 1, 1}},
    {"mean(full([100, 3], 3e38), 0) / 3e38", {1, 1, 1}},
    {"mean([inf, 1.0])", {kInfinity}},
    {"avg_pool2d(full([1, 2, 4, 1], 3e38), [2, 2]) / 3e38", {1, 1}},
    {"avg_pool2d(full([1, 1, 3, 1], -3e38), [1, 3], [1, 1], [0, 1]) / -3e38", {1, 1, 1}, 1e-6},
    {"mean([inf, -inf])", {kNan}},
    {"var(arange(1700000000, 1700000010))", {8.25}},
    {"std(cast(arange(1700000000, 1700000010), i32))", {2.8722813}, 1e-7},
    {"var(cast(arange(10), u64) + cast(full([10], 9e18, f64), u64))", {8.25}},
    {"var(arange(8) + 1e7)", {5.25}},
    {"std(full([10], 0.1))", {0}},
    {"std(full([100000], 0.1))", {0}},
    {"var(full([7, 300], 0.1), 1)", {0, 0, 0, 0, 0, 0, 0}},
    {"var([1.0, inf])", {kNan}},
    {"var(zeros([0]))", {kNan}},
    {"var([5.0])", {0}},
    {"prod(pad(full([2000], 2.0), [[1, 0]]))", {0}},
    {"prod(pad(full([20000], 2.0), [[0, 1]]))", {0}},
    {"prod(concat([full([2000], 2.0), [0.0, inf]]))", {kNan}},
    {"prod([3, 4, 5.0])", {60}},
};

// Exact, however far the operands are apart.
const std::vector<Answer> kRemainders = {
    {"full([], 1e9) % 7", {6}},
    {"full([], -1e9) % 7", {1}},
    {"full([], 1e9) % -7", {-1}},
    {"r = full([], 1e30) % 1e-30; r >= 0 and r < 1e-30", {1}},
    {"full([], 1e300, f64) % 7", {1}},
    {"full([], 16777217.0 * 3, f64) % 3", {0}},
    {"full([], 3.4e38) % 1e-45 == 0", {1}},
    {"full([], inf) // 1.0", {kNan}},
    {"full([], inf) // 0.0", {kInfinity}},
    {"full([], 5.0) // inf", {0}},
    {"full([], -5.0) // inf", {-1}},
    {"full([], 5.0) % inf", {5}},
    {"full([], 5.0) % 0.0", {kNan}},
    {"full([], inf) % 3", {kNan}},
};

// Running values of which no later one is spoiled by what a part of them would be alone.
const std::vector<Answer> kScans = {
    {"any(isnan(cumprod(pad(full([511], 2.0), [[1, 0]]))))", {0}},
    {"any(isnan(cumprod(pad(full([512], 2.0), [[1, 0]]))))", {0}},
    {"all(isfinite(cumsum(concat([[-3e38], zeros([599]), [3e38, 1e38], zeros([500])]))))", {1}},
    {"any(isnan(cumsum(concat([[-inf], zeros([599]), [3e38, 3e38], zeros([500])]))))", {0}},
    {"cumsum(ones([17825792]))[-1]", {17825792}},
    {"cumprod(concat([full([600], 0.5), full([600], 2.0)]))[-1]", {1}},
};
// On exact devices.
const std::vector<Answer> kMonotoneScans = {
    {"y = cumsum(arange(2000) * 0.1); sum(y[1:] < y[:-1])", {0}},
    {"y = cumsum(rand([1048576])); sum(y[1:] < y[:-1])", {0}},
};

// Lists and numbers are what is written, until their dtype is known.
const std::vector<Answer> kNumbers = {
    {"tensor([0.1, 1e300], f64)", {0.1, 1e300}},
    {"tensor(0.1, f64)", {0.1}},
    {"tensor([16777217.0], i64)", {16777217}},
    {"scatter(zeros([1], f64), [0], [0.1], 0)", {0.1}},
    {"arange(10)[::9223372036854775807]", {0}},
    {"arange(10)[2:8:9223372036854775806]", {2}},
    {"full([], 18446744073709551615) * 1.0", {0x1p64}},
    {"9007199254740993 == 9007199254740992.0", {0}},
    {"linspace(-3e38, 3e38, 2) / 3e38", {-1, 1}},
    {"gemm(full([1, 4], 256, f16), full([4, 1], 256, f16), zeros([1, 1], f16), 0.125, 0)[0, 0]",
     {32768}},
    {"gemm(tensor([[33554435]], i64), tensor([[1]], i64), tensor([[0]], i64), 2, 0)", {67108870}},
    {"full([], inf, f64) // 1.0 + full([], 0.0, f64)", {kNan}},
    {"[1, 2] + [3, 4]", {4, 6}},
};

void expect_answers(const std::vector<Answer>& answers, const Executor& executor) {
  for (const Answer& answer : answers) {
    std::vector<double> got;
    try {
      const auto results = Expression::parse(answer.text).evaluate({}, executor);
      got = results.back().second.to(DType::F64).to_vector<double>();
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::UnsupportedOperation) continue;  // a dtype that the device lacks
      ADD_FAILURE() << answer.text << ": " << e.what();
      continue;
    }
    ASSERT_EQ(got.size(), answer.right.size()) << answer.text;
    for (size_t i = 0; i < got.size(); i++) {
      const double right = answer.right[i];
      if (std::isnan(right)) EXPECT_TRUE(std::isnan(got[i])) << answer.text << ": " << got[i];
      else if (std::isinf(right)) EXPECT_EQ(got[i], right) << answer.text;
      else EXPECT_NEAR(got[i], right, answer.within * std::fabs(right)) << answer.text << ", " << i;
    }
  }
}

struct Way {
  std::string name;
  std::optional<BackendType> device;
  bool fusion = true;
  Jit jit = Jit::On;
  std::string target = {};
};

std::vector<Way> ways() {
  std::vector<Way> list = {{"Default", BackendType::Cpu},
                           {"Unfused", BackendType::Cpu, false},
                           {"Interpreted", BackendType::Cpu, true, Jit::Off},
                           {"Compiled", BackendType::Cpu, true, Jit::Always},
                           {"CompiledUnfused", BackendType::Cpu, false, Jit::Always}};
  for (const interp::Target& t : interp::supported_targets()) {
    const bool compiles = jit::isa_of(t.name) != jit::Isa::None;
    list.push_back({"Target_" + std::string(t.name), BackendType::Cpu, true,
                    compiles ? Jit::Always : Jit::Off, std::string(t.name)});
  }
  for (const BackendType b : {BackendType::Cuda, BackendType::OpenCl, BackendType::WebGpu})
    list.push_back({std::string(name_of(b)), b});
  return list;
}

class Answers : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const Way& way = GetParam();
    try {
      ExecutorBuilder builder;
      builder.backend(*way.device).fusion(way.fusion);
      if (way.device == BackendType::Cpu) builder.jit(way.jit).check(false);
      if (!way.target.empty()) builder.cpu_target(way.target);
      executor_.emplace(builder.build());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::optional<Executor> executor_;
};

TEST_P(Answers, OfNarrowCasts) { expect_answers(kNarrowCasts, *executor_); }
TEST_P(Answers, OfEmptyReductions) { expect_answers(kEmptyReductions, *executor_); }
TEST_P(Answers, OfStatistics) { expect_answers(kStatistics, *executor_); }
TEST_P(Answers, OfRemainders) { expect_answers(kRemainders, *executor_); }
TEST_P(Answers, OfScans) {
  expect_answers(kScans, *executor_);
  if (executor_->device().numerics == Numerics::Exact) expect_answers(kMonotoneScans, *executor_);
}
TEST_P(Answers, OfNumbers) { expect_answers(kNumbers, *executor_); }

// A NaN is the same one, sign included. (Of two operands that are NaN with different signs,
// processors pass on either.)
TEST(Nan, IsTheSameInterpretedAndCompiled) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> first = {nan, -nan, nan, -nan, 1, 1, nan, -nan, 0, -0.0F},
                           second = {nan, -nan, 2, 2, nan, -nan, -3, -3, 1, 2},
                           third = {nan, -nan, 1, 1, 5, 6, 0, 2, nan, -nan};
  const auto results = [&](const Executor& executor, const graph::ElementwiseOp& op, DType dtype) {
    std::vector<Operand> operands;
    for (const auto* values : {&first, &second, &third})
      if (operands.size() < op.arity)
        operands.emplace_back(Tensor::from_vector(*values, {10}, executor).to(dtype));
    const double attributes[] = {0.5, 0.5};
    const Tensor result =
        tensor::apply(op, operands, std::span(attributes).first(op.attribute_count));
    return result.array();
  };
  const auto targets = interp::supported_targets();
  std::vector<Executor> executors;
  for (const interp::Target& t : targets)
    for (const Jit jit : {Jit::Off, Jit::Always})
      executors.push_back(ExecutorBuilder()
                              .backend(BackendType::Cpu)
                              .cpu_target(std::string(t.name))
                              .jit(jit)
                              .check(false)
                              .build());
  for (const graph::ElementwiseOp& op : graph::elementwise_table()) {
    if (op.nan == graph::Nan::None || op.rule == graph::Rule::Choice) continue;
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      const Array expected = results(executors.front(), op, dtype);
      for (size_t k = 1; k < executors.size(); k++) {
        const Array got = results(executors[k], op, dtype);
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.bytes()), 0)
            << op.name << " " << name_of(dtype) << " on " << targets[k / 2].name
            << (k % 2 == 0 ? " interpreted" : " compiled");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Answers, testing::ValuesIn(ways()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace hologram
