// Expressions whose answers were wrong once, and others of their kinds: the table answers.json,
// computed in every way there is.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/elementwise.hpp"
#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/ops.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"
#include "share.hpp"
#include "tensor/access.hpp"

namespace hologram {
namespace {

// A number of the table; JSON has no infinities and NaN.
double number(const nlohmann::json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

// The groups of the table, each a test in every way.
void expect_answers(std::string_view group, const Executor& executor) {
  static const nlohmann::json table = nlohmann::json::parse(std::ifstream(HOLOGRAM_ANSWERS));
  static const Executor host(BackendType::Cpu);  // which has f64
  tests::Share share;
  int refused = 0;
  for (const auto& answer : table.at(std::string(group)).at("answers")) {
    if (!share.next()) continue;
    const auto text = answer.at("text").get<std::string>();
    const double within = answer.value("within", 0.0);
    std::vector<double> got;
    try {
      const auto results = Expression::parse(text).evaluate({}, executor);
      const Array array = results.back().second.array();
      got = Tensor::from(array, host).to(DType::F64).to_vector<double>();
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::UnsupportedOperation) refused++;  // a dtype that the device lacks
      else ADD_FAILURE() << text << ": " << e.what();
      continue;
    }
    ASSERT_EQ(got.size(), answer.at("right").size()) << text;
    for (size_t i = 0; i < got.size(); i++) {
      const double right = number(answer.at("right")[i]);
      if (std::isnan(right)) EXPECT_TRUE(std::isnan(got[i])) << text << ": " << got[i];
      else if (std::isinf(right)) EXPECT_EQ(got[i], right) << text;
      else EXPECT_NEAR(got[i], right, within * std::fabs(right)) << text << ", " << i;
    }
  }
  if (refused > 0) std::printf("%d of them need a dtype that the device lacks\n", refused);
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

TEST_P(Answers, OfNarrowCasts) { expect_answers("narrow casts", *executor_); }
TEST_P(Answers, OfEmptyReductions) { expect_answers("empty reductions", *executor_); }
// One kernel makes both, whose rows are empty; neither view of `x` walks as that kernel's rows do.
TEST_P(Answers, BesideEmptyReductions) {
  const Tensor x = ops::arange(0, 36, 1, DType::I32, *executor_).reshape({3, 4, 3}).eval();
  for (const Shape& rows : {Shape{2, 4, 3, 0}, Shape{24, 0}, Shape{4, 6, 0}, Shape{3, 4, 2, 0}}) {
    const Tensor nothing = ops::zeros(rows, DType::I32, *executor_).eval();
    const Tensor step =
        x.slice(2, {1, 3}) * x.slice(2, {1, 3}) - x.slice(2, {0, 2}) * x.slice(2, {0, 2});
    const Tensor sum = ops::sum(nothing, -1);
    eval({step, sum});
    const auto steps = step.to_vector<int32_t>();
    const auto sums = sum.to(DType::I32).to_vector<int32_t>();
    for (size_t i = 0; i < steps.size(); i++) {
      const auto first = static_cast<int32_t>(i / 2 * 3 + i % 2);
      EXPECT_EQ(steps[i], 2 * first + 1) << "beside " << to_string(rows) << ", " << i;
      EXPECT_EQ(sums[i], 0);
    }
  }
}
TEST_P(Answers, OfStatistics) { expect_answers("statistics", *executor_); }
TEST_P(Answers, OfRemainders) { expect_answers("remainders", *executor_); }
TEST_P(Answers, OfScans) {
  expect_answers("scans", *executor_);
  if (executor_->device().numerics == Numerics::Exact) expect_answers("monotone scans", *executor_);
}
TEST_P(Answers, OfNumbers) { expect_answers("numbers", *executor_); }

// A NaN is the same one, sign included. (Of two operands that are NaN with different signs,
// processors pass on either.)
TEST(Nan, IsTheSameInterpretedAndCompiled) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> first = {nan, -nan,  nan, -nan, 1,        1,  nan,       -nan,
                                    0,   -0.0F, 2,   -2,   infinity, -3, -infinity, 0.5F},
                           second = {nan, -nan, 2, 2,    nan,      -nan,     -3,       -3,
                                     1,   2,    0, 0.5F, infinity, infinity, infinity, -0.5F},
                           third = {nan, -nan, 1, 1, 5, 6,         0,        2,
                                    nan, -nan, 1, 1, 1, -infinity, infinity, 0};
  const auto results = [&](const Executor& executor, const graph::ElementwiseOp& op, DType dtype) {
    std::vector<Operand> operands;
    for (const auto* values : {&first, &second, &third})
      if (operands.size() < op.arity)
        operands.emplace_back(Tensor::from_vector(*values, {16}, executor).to(dtype));
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
