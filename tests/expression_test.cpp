// Expressions as users write them: values, precedence, errors that point at their place.
#include "hologram/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "hologram/error.hpp"
#include "hologram/ops.hpp"
#include "message_of.hpp"

namespace hologram {
namespace {

Tensor value(const std::string& text, const Expression::Inputs& inputs = {}) {
  return Expression::parse(text).evaluate(inputs).back().second;
}
double number(const std::string& text, const Expression::Inputs& inputs = {}) {
  return value(text, inputs).item<double>();
}
std::vector<double> numbers(const std::string& text, const Expression::Inputs& inputs = {}) {
  return value(text, inputs).to(DType::F64).to_vector<double>();
}
using List = std::vector<double>;

// Of the inputs, those that it has.
std::string refusal(const std::string& text, const Expression::Inputs& inputs = {}) {
  return message_of([&] {
    const Expression e = Expression::parse(text);
    Expression::Inputs needed;
    for (const std::string& name : e.inputs())
      if (inputs.contains(name)) needed.insert(*inputs.find(name));
    e.evaluate(needed);
  });
}

TEST(Expression, OperatorsBindAsInPython) {
  const std::pair<const char*, double> cases[] = {
      {"1 + 2 * 3", 7},          {"(1 + 2) * 3", 9},
      {"-2 ** 2", -4},           {"2 ** 3 ** 2", 512},
      {"2 ** -1", 0.5},          {"7 // 2 * 2", 6},
      {"-7 // 2", -4},           {"-7 % 3", 2},
      {"1 / 4", 0.25},           {"1 << 3 | 1", 9},
      {"6 & 3 ^ 1", 3},          {"~5", -6},
      {"not 1 == 2", 1},         {"1 < 2 < 3", 1},
      {"1 < 3 < 2", 0},          {"1 or 0 and 0", 1},
      {"0x10 + 1e1", 26},        {"- - 3", 3},
      {"10 - 3 - 2", 5},         {"sqrt(2)", std::sqrt(2)},
      {"true and not false", 1}, {"max(2, 3) + min(2, 3)", 5},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(number(text), static_cast<float>(expected)) << text;
}

TEST(Expression, StatementsNameValues) {
  const Expression e = Expression::parse(
      "m = mean(x)  # of all\n"
      "d = x - m;   v = mean(d ** 2,\n"
      "                      axis=0)\n\n"
      "sqrt(v)\n");
  EXPECT_EQ(e.inputs(), std::vector<std::string>{"x"});
  EXPECT_EQ(e.outputs(), (std::vector<std::string>{"m", "d", "v", ""}));
  const auto results = e.evaluate({{"x", Tensor::from({1.0f, 3.0f})}});
  EXPECT_EQ(results[0].second.item<float>(), 2);
  EXPECT_EQ(results[3].second.item<float>(), 1);
  EXPECT_EQ(numbers("x = x + 1; x = x * 2", {{"x", 3}}), List{8});
  EXPECT_EQ(Expression::parse("x = 1; y = x").last(), "y");
}

TEST(Expression, IndexesAsInPython) {
  const Tensor x = ops::arange(24).reshape({2, 3, 4});
  const Expression::Inputs in = {{"x", x}};
  EXPECT_EQ(numbers("x[1, -1, 1:3]", in), (List{21, 22}));
  EXPECT_EQ(numbers("x[..., 0][0, ::-1]", in), (List{8, 4, 0}));
  EXPECT_EQ(value("x[:, none, ..., 1:]", in).shape(), (Shape{2, 1, 3, 3}));
  EXPECT_EQ(numbers("x[0, 0, x.shape[1]:]", in), List{3});
  EXPECT_EQ(numbers("x.shape", in), (List{2, 3, 4}));
  EXPECT_EQ(value("x.T", in).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(number("x.size // x.rank", in), 8);
  EXPECT_EQ(value("x[0, 0] * cast(1, x.dtype)", in).dtype(), DType::I64);
}

TEST(Expression, CallsTakePositionsAndNames) {
  const Expression::Inputs in = {{"x", Tensor::from({1.0f, 2.0f, 3.0f, 5.0f}, {2, 2})}};
  EXPECT_EQ(numbers("sum(x, axis=0)", in), (List{4, 7}));
  EXPECT_EQ(value("sum(x, 1, keepdims=true)", in).shape(), (Shape{2, 1}));
  EXPECT_EQ(number("sum(x, axis=(0, 1))", in), 11);
  EXPECT_EQ(numbers("leaky_relu(-x, negative_slope=0.5)[0]", in), (List{-0.5, -1}));
  EXPECT_EQ(numbers("max(x, 2 * x[::-1])", in), (List{6, 10, 3, 5}));
  EXPECT_EQ(number("max(x)", in), 5);
  EXPECT_EQ(value("zeros([3, 4], f64)").dtype(), DType::F64);
  EXPECT_EQ(value("cast(x, f16)", in).dtype(), DType::F16);
  EXPECT_EQ(numbers("where(x > 2, x, 0)", in), (List{0, 0, 3, 5}));
  EXPECT_EQ(numbers("arange(3)"), (List{0, 1, 2}));
  EXPECT_EQ(numbers("tensor([[1, 2], [3, 4]], u8) + [10, 20]"), (List{11, 22, 13, 24}));
}

TEST(Expression, ListsHoldTensors) {
  const Expression::Inputs in = {{"x", Tensor::from({3.0f, 1.0f, 2.0f})}};
  EXPECT_EQ(numbers("topk(x, 2)[0]", in), (List{3, 2}));
  EXPECT_EQ(numbers("concat([x, 2 * x])[2:4]", in), (List{2, 6}));
  EXPECT_EQ(numbers("split(x, [1, 2])[1]", in), (List{1, 2}));
  EXPECT_EQ(numbers("pad(x, [[1, 0]], value=-1)", in), (List{-1, 3, 1, 2}));
  EXPECT_EQ(numbers("x @ [[1, 0], [0, 1], [1, 1]]", in), (List{5, 3}));
}

// A number beside a tensor takes its dtype, also after arithmetic with other numbers.
TEST(Expression, NumbersAreWeak) {
  EXPECT_EQ(value("x * sqrt(2) + 1 / 3", {{"x", ops::ones({2}, DType::F16)}}).dtype(), DType::F16);
  const double root = number("x * sqrt(2)", {{"x", ops::ones({}, DType::F64)}});
  EXPECT_EQ(root, std::sqrt(2.0));
}

TEST(Expression, RunsInOneLaunch) {
  const Tensor x = ops::rand({1000}).eval();
  const Tensor y =
      value("sigmoid(a*b + c)*d - e", {{"a", x}, {"b", x}, {"c", x}, {"d", x}, {"e", 2 * 0.25}});
  const uint64_t before = x.executor().counters().launches;
  y.eval();
  EXPECT_EQ(x.executor().counters().launches - before, 1u);
}

TEST(Expression, EveryFunctionHasASignatureAndAMeaning) {
  EXPECT_GT(expression_functions().size(), 90u);
  for (const FunctionInfo& f : expression_functions()) {
    EXPECT_EQ(f.signature.rfind(f.name + "(", 0), 0u);
    EXPECT_FALSE(f.meaning.empty());
    // No arguments at all: the complaint shows how it is called.
    EXPECT_NE(refusal(f.name + "()").find("It is " + f.signature), std::string::npos) << f.name;
  }
}

TEST(Expression, ErrorsPointAtTheirPlace) {
  const Expression::Inputs in = {{"x", ops::ones({2, 3})}, {"y", ops::ones({2})}};
  EXPECT_EQ(refusal("1 +\n"),
            "expression:1:4: expected a number, a name or '(', found the end of the statement\n"
            "    1 | 1 +\n      |    ^ | `hologram help eval` shows how expressions are written.");
  EXPECT_EQ(
      refusal("a = x * 2\nb = a + y", in).substr(0, 60),
      std::string("expression:2:7: add: shapes [2, 3] and [2] do not go together").substr(0, 60));
  const std::pair<const char*, const char*> cases[] = {
      {"sqt(x)", "Did you mean sqrt?"},
      {"x + z", "'z' has no value"},
      {"sum(x, axes=0)",
       "It is sum(x, axis=none, keepdims=false). "
       "Did you mean axis?"},
      {"sum(x, f32)", "sum: axis takes the number of an axis or a list of them, not the dtype f32"},
      {"sum(x, axis=5)", "there is no axis 5"},
      {"sum()", "sum needs x"},
      {"exp(x, y)", "exp takes 1 arguments at most, not 2"},
      {"sum(x, x=1)", "x is given twice"},
      {"max(x, 0)", "Write maximum(x, number), or max(x, axis=number)."},
      {"x.shap", "Did you mean shape?"},
      {"x[0, 0, 0]", "3 indices for a tensor of shape [2, 3]"},
      {"x[2.5]", "the number 2.5 cannot be an index"},
      {"x[5]", "index 5 is outside of axis 0"},
      {"f32 = 3", "'f32' is a dtype"},
      {"x; y", "the value of this statement is not used"},
      {"x $ y", "'$' means nothing"},
      {"1.5.2", "'1.5.2' is not a number"},
      {"99999999999999999999 + x", "99999999999999999999"},
      {"sum(axis=0, x)", "without a name after one with a name"},
      {"[x, 1] + 1", "the list is no tensor"},
      {"", "expected an expression, found the end"},
      {"(1", "expected ')', found the end"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_NE(refusal(text, in).find(expected), std::string::npos)
        << text << ": " << refusal(text, in);
  EXPECT_NE(message_of([&] {
              Expression::parse("a + b").evaluate({{"a", 1}, {"B", 2}});
            }).find("no input 'B' | Its inputs are: a, b."),
            std::string::npos);
}

TEST(Expression, DepthAndLengthAreLimited) {
  const std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_NE(refusal(deep).find("goes deeper than 200 levels"), std::string::npos);
  EXPECT_NE(refusal(std::string(100000, '-') + "1").find("goes deeper"), std::string::npos);
  EXPECT_NE(refusal(std::string(2 << 20, ' ')).find("longer than"), std::string::npos);
  std::string wide = "x";
  for (int i = 0; i < 5000; i++) wide += "+x";
  EXPECT_EQ(number(wide, {{"x", Tensor::from({1.0f}, {1})}}), 5001);
}

}  // namespace
}  // namespace hologram
