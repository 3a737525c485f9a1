// Numbers and lists of numbers in expressions: they are exact until what stands beside them says
// their dtype.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hologram/expression.hpp"
#include "hologram/ops.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

Tensor value(const std::string& text, const Expression::Inputs& inputs = {}) {
  return Expression::parse(text).evaluate(inputs).back().second;
}
std::string refusal(const std::string& text, const Expression::Inputs& inputs = {}) {
  return message_of([&] { value(text, inputs).eval(); });
}

// "f64[2] 0.1 1e+300", exactly.
std::string shown(const std::string& text, const Expression::Inputs& inputs = {}) {
  const Tensor t = value(text, inputs);
  std::string all = std::string(name_of(t.dtype())) + to_string(t.shape());
  const auto add = [&](const auto& values) {
    for (const auto v : values) all += fmt::format(" {}", v);
  };
  if (t.dtype() == DType::F64) add(t.to_vector<double>());
  else if (is_float(t.dtype())) add(t.to(DType::F32).to_vector<float>());
  else if (t.dtype() == DType::U64) add(t.to_vector<uint64_t>());
  else add(t.to(DType::I64).to_vector<int64_t>());
  return all;
}

using Cases = std::vector<std::pair<const char*, const char*>>;
void expect_shown(const Cases& cases, const Expression::Inputs& inputs = {}) {
  for (const auto& [text, right] : cases) {
    const Expression e = Expression::parse(text);
    Expression::Inputs needed;
    for (const std::string& name : e.inputs()) needed.insert(*inputs.find(name));
    EXPECT_EQ(shown(text, needed), right) << text;
  }
}

Expression::Inputs one_of_each_dtype() {
  Expression::Inputs inputs;
  for (size_t i = 1; i < kDTypeCount; i++) {
    const auto t = static_cast<DType>(i);
    inputs.emplace(std::string("x_") + std::string(name_of(t)), ops::ones({2}, t));
  }
  return inputs;
}

TEST(ExpressionNumbers, ListsAreAsTheyAreWritten) {
  expect_shown({
      {"tensor([0.1, 1e300], f64)", "f64[2] 0.1 1e+300"},
      {"tensor(0.1, f64)", "f64[] 0.1"},
      {"tensor([16777217.0], i64)", "i64[1] 16777217"},
      {"tensor([1.9, -1.9], i8)", "i8[2] 1 -1"},
      {"tensor([9007199254740993, 1], u64)", "u64[2] 9007199254740993 1"},
      {"tensor([[1, 0.1], [true, 3]], f64)", "f64[2, 2] 1 0.1 1 3"},
      {"tensor([18446744073709551615])", "u64[1] 18446744073709551615"},
      {"[1, 18446744073709551615]", "u64[2] 1 18446744073709551615"},
      {"tensor([16777217], f32)", "f32[1] 16777216"},
      {"cast([0.1], f64)", "f64[1] 0.1"},
      {"cast(0.1, f64)", "f64[] 0.1"},
      {"cast([300, -1], u8)", "u8[2] 44 255"},
      {"cast([9007199254740993], u64)", "u64[1] 9007199254740993"},
      {"cast([1e300, -1e300], i64)", "i64[2] 9223372036854775807 -9223372036854775808"},
      {"scatter(zeros([1], f64), [0], [0.1], 0)", "f64[1] 0.1"},
      {"scatter(zeros([1], i64), [0], [9007199254740993], 0)", "i64[1] 9007199254740993"},
      {"scatter_add(ones([1], f64), [0], [1e-15], 0)", "f64[1] 1.000000000000001"},
      {"sum([0.5, 0.25])", "f32[] 0.75"},
      {"[0.1, 2]", "f32[2] 0.1 2"},
      {"[1, true]", "i64[2] 1 1"},
      {"[true, false]", "bool[2] 1 0"},
      {"[[], []]", "f32[2, 0]"},
  });
  for (const auto& [text, right] : Cases{
           {"tensor([300], u8)", "300 is not a value of type u8"},
           {"tensor([-1], u64)", "-1 is not a value of type u64"},
           {"tensor([9223372036854775808], i64)", "9223372036854775808 is not a value of type i64"},
           {"scatter(zeros([1], u8), [0], [256], 0)", "256 is not a value of type u8"},
           {"scatter(zeros([1], i64), [0], [0.5], 0)", "0.5 is not a value of type i64"},
           {"[-1, 18446744073709551615]", "-1 is not a value of type u64"},
       })
    EXPECT_NE(refusal(text).find(right), std::string::npos) << text << ": " << refusal(text);
}

// A list takes a dtype as a number in its place does.
TEST(ExpressionNumbers, ListsTakeTheDTypeBesideThem) {
  const Expression::Inputs inputs = one_of_each_dtype();
  for (const auto& [name, x] : inputs)
    for (const char* op : {"+", "*", "==", "<"})
      for (const char* number : {"1", "0.5", "7", "true"}) {
        if (name == "x_bool" && std::string(number) == "true") continue;
        const Expression::Inputs in = {{name, x}};
        const std::string of_list = fmt::format("{} {} [{}, {}]", name, op, number, number);
        EXPECT_EQ(shown(of_list, in), shown(fmt::format("{} {} {}", name, op, number), in))
            << of_list;
        EXPECT_EQ(shown(fmt::format("[{}] {} {}", number, op, name), in),
                  shown(fmt::format("{} {} {}", number, op, name), in))
            << of_list;
      }
  expect_shown(
      {
          {"x_f64 + [0.1]", "f64[2] 1.1 1.1"},
          {"x_f64 + -[0.1]", "f64[2] 0.9 0.9"},
          {"x_f64 + ([0.1] + [0.2, 0.3] * 2)", "f64[2] 1.5 1.7"},
          {"x_f64 * [[1], [9007199254740993]]", "f64[2, 2] 1 1 9007199254740992 9007199254740992"},
          {"x_i64 * [9007199254740993, -1]", "i64[2] 9007199254740993 -1"},
          {"x_u64 * [18446744073709551615, 1]", "u64[2] 18446744073709551615 1"},
          {"x_u8 + [1, 2]", "u8[2] 2 3"},
          {"x_i32 + [0.5, 1]", "f32[2] 1.5 2"},
          {"x_f64 @ [[0.1], [0.2]]", "f64[1] 0.30000000000000004"},
          {"outer([0.1], x_f64)", "f64[1, 2] 0.1 0.1"},
          {"dot([0.1, 0.1], x_f64)", "f64[] 0.2"},
          {"tensordot([0.1, 0.1], x_f64, 1)", "f64[] 0.2"},
          {"gemm([[0.1]], cast([[1]], f64), [[0.2]])", "f64[1, 1] 0.30000000000000004"},
          {"gemv(cast([[1]], f64), [0.1], [0.1], 1, 2)", "f64[1] 0.30000000000000004"},
          {"concat([x_f64, [0.1]])", "f64[3] 1 1 0.1"},
          {"stack([x_f64, [0.1, 1e300]])[1]", "f64[2] 0.1 1e+300"},
          {"where(x_f64 > 0, x_f64 * 0.1, [1, 2])", "f64[2] 0.1 0.1"},
          {"where([true, false], x_f64, [0.1, 0.1])", "f64[2] 1 0.1"},
          {"maximum(x_f64, [0.1, 1.1])", "f64[2] 1 1.1"},
          {"searchsorted(x_f64, [0.1])", "i64[1] 0"},
          {"x_i32 << [1, 2]", "i32[2] 2 4"},
          {"[1, 2] << x_u8", "i64[2] 2 4"},
      },
      inputs);
  EXPECT_NE(refusal("x + [300]", {{"x", ops::ones({1}, DType::U8)}}).find("300 is not a value"),
            std::string::npos);
}

TEST(ExpressionNumbers, ListsAloneStayExact) {
  expect_shown({
      {"[1, 2] + [3, 4]", "i64[2] 4 6"},
      {"([1, 2] + [3, 4]).shape", "i64[1] 2"},
      {"tensor([0.1] + [0.2], f64)", "f64[1] 0.30000000000000004"},
      {"tensor(sqrt([2]), f64)", "f64[1] 1.4142135623730951"},
      {"tensor(([[0.1, 0.2]] * 3).T[1], f64)", "f64[1] 0.6000000000000001"},
      {"tensor(where([true, false], 0.1, [0.2, 0.3]), f64)", "f64[2] 0.1 0.3"},
      {"[9007199254740993, 2] + 1", "i64[2] 9007199254740994 3"},
      {"[9007199254740993] == [9007199254740992]", "bool[1] 0"},
      {"[2, 3] ** -1", "f32[2] 0.5 0.33333334"},
      {"[7, -7] // 2", "i64[2] 3 -4"},
      {"[1, 2] / 2", "f32[2] 0.5 1"},
      {"([1, 2] * 2)[1]", "i64[] 4"},
      {"zeros([1], ([0.5] * 2).dtype)", "f32[1] 0"},
  });
}

TEST(ExpressionNumbers, IntegersAreExactToTheEnds) {
  expect_shown(
      {
          {"9223372036854775807", "i64[] 9223372036854775807"},
          {"9223372036854775808", "u64[] 9223372036854775808"},
          {"18446744073709551615", "u64[] 18446744073709551615"},
          {"0xffffffffffffffff", "u64[] 18446744073709551615"},
          {"-9223372036854775808", "i64[] -9223372036854775808"},
          {"9223372036854775807 + 1", "u64[] 9223372036854775808"},
          {"18446744073709551615 - 18446744073709551614", "i64[] 1"},
          {"18446744073709551615 - 1", "u64[] 18446744073709551614"},
          {"2 ** 63", "u64[] 9223372036854775808"},
          {"(-2) ** 63", "i64[] -9223372036854775808"},
          {"3 ** 40", "u64[] 12157665459056928801"},
          {"4294967296 * 4294967295", "u64[] 18446744069414584320"},
          {"-7 // 2", "i64[] -4"},
          {"-7 % 3", "i64[] 2"},
          {"7 % -3", "i64[] -2"},
          {"7 // 0", "i64[] 0"},
          {"7 % 0", "i64[] 0"},
          {"18446744073709551615 // 3", "i64[] 6148914691236517205"},
          {"18446744073709551615 % 10", "i64[] 5"},
          {"abs(-9223372036854775808)", "u64[] 9223372036854775808"},
          {"max(-1, 18446744073709551615)", "u64[] 18446744073709551615"},
          {"min(-1, 18446744073709551615)", "i64[] -1"},
          {"x * 1.0", "f32[] 1.8446744e+19"},
          {"x // 1", "u64[] 18446744073709551615"},
          {"true + true", "i64[] 2"},
          {"max(true, false)", "bool[] 1"},
          {"-true", "i64[] -1"},
      },
      {{"x", UINT64_MAX}});
  for (const char* text :
       {"18446744073709551615 + 1", "2 ** 64", "10 ** 100", "-18446744073709551615",
        "-9223372036854775808 - 1", "18446744073709551615 * 18446744073709551615"})
    EXPECT_NE(refusal(text).find("an integer beyond i64 and u64"), std::string::npos)
        << text << ": " << refusal(text);
  EXPECT_NE(refusal("18446744073709551616").find("not a number"), std::string::npos);
}

TEST(ExpressionNumbers, ComparisonsAreExact) {
  const std::pair<const char*, bool> cases[] = {
      {"9007199254740993 == 9007199254740992.0", false},
      {"9007199254740993 > 9007199254740992.0", true},
      {"9007199254740992 == 9007199254740992.0", true},
      {"9007199254740992.0 < 9007199254740993", true},
      {"9007199254740993 != 9007199254740992.0", true},
      {"18446744073709551615 == 18446744073709551616.0", false},
      {"18446744073709551615 < 18446744073709551616.0", true},
      {"18446744073709551615 > -1", true},
      {"9223372036854775807 < 9223372036854775808", true},
      {"9223372036854775807 == 9223372036854775808.0", false},
      {"-9223372036854775808 == -9223372036854775808.0", true},
      {"3 < 3.5", true},
      {"4 < 3.5", false},
      {"-3 > -3.5", true},
      {"3 == nan", false},
      {"3 != nan", true},
      {"3 < nan", false},
      {"18446744073709551615 < inf", true},
      {"-9223372036854775808 > -inf", true},
      {"1 < 2 < 2.5", true},
  };
  for (const auto& [text, right] : cases) EXPECT_EQ(value(text).item<bool>(), right) << text;
}

TEST(ExpressionNumbers, EndsOfSlicesRangesAndIndices) {
  expect_shown({
      {"arange(10)[::9223372036854775807]", "i64[1] 0"},
      {"arange(10)[::-9223372036854775808]", "i64[1] 9"},
      {"arange(10)[::18446744073709551615]", "i64[1] 0"},
      {"arange(3)[:18446744073709551615]", "i64[3] 0 1 2"},
      {"arange(3)[-9223372036854775808:9223372036854775807]", "i64[3] 0 1 2"},
      {"arange(10)[2:8:9223372036854775806]", "i64[1] 2"},
      {"arange(18446744073709551614, 18446744073709551615)", "u64[1] 18446744073709551614"},
      {"linspace(-3e38, 3e38, 2)", "f32[2] -3e+38 3e+38"},
      {"full([1], 18446744073709551615)", "u64[1] 18446744073709551615"},
      {"full_like(zeros([1], u64), 18446744073709551615)", "u64[1] 18446744073709551615"},
      {"pad(zeros([0], u64), [[1, 0]], 18446744073709551615)", "u64[1] 18446744073709551615"},
      {"randint(18446744073709551614, 18446744073709551615, [1], u64)",
       "u64[1] 18446744073709551614"},
      {"gemm([[9007199254740993]], [[1]], [[1]], 1, 9007199254740993)",
       "i64[1, 1] 18014398509481986"},
      {"gemm([[3]], [[5]], [[1]], 2, 2)", "i64[1, 1] 32"},
  });
  for (const auto& [text, right] : Cases{
           {"take(arange(4), cast([-1], u64), 0)", "lies outside"},
           {"arange(4)[18446744073709551615]", "cannot be an index"},
           {"reshape(arange(4), [18446744073709551615])", "takes a shape"},
           {"sum(arange(4), 9223372036854775807)", "the number of an axis"},
           {"repeat(arange(4), 4611686018427387904)", "shape"},
           {"gemm([[1]], [[1]], [[1]], 0.5)", "0.5 is not a value of type i64"},
       })
    EXPECT_NE(refusal(text).find(right), std::string::npos) << text << ": " << refusal(text);
}

}  // namespace
}  // namespace hologram
