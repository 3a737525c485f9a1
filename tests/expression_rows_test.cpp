// Expressions over inputs that are read by pieces: the same values as of the whole.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

constexpr int64_t kRows = 1003, kColumns = 7;

Array random_array(Shape shape, uint64_t key, DType dtype = DType::F32) {
  ops::seed(key);
  const Tensor x = ops::rand(std::move(shape)) * 20 - 8;
  return x.to(dtype).array();
}

RowSource source_of(const Array& array) {
  return {array.dtype(), array.shape(), array, [array](int64_t first, int64_t count) {
            Shape shape = array.shape();
            const size_t row = array.bytes() / static_cast<size_t>(shape[0]);
            shape[0] = count;
            return Array::borrow(array.dtype(), shape,
                                 static_cast<const void*>(array.data() + first * row));
          }};
}

// What the sink got, put together.
struct Collected {
  Array array;
  int64_t next = 0;
};

struct Case {
  std::map<std::string, Array> by_rows;
  Expression::Inputs whole;

  Expression::RowReport run(const std::string& text, Collected& out) const {
    const Expression e = Expression::parse(text);
    std::map<std::string, RowSource> sources;
    Expression::Inputs inputs;
    for (const std::string& name : e.inputs()) {
      if (by_rows.contains(name)) sources.emplace(name, source_of(by_rows.at(name)));
      if (whole.contains(name)) inputs.insert(*whole.find(name));
    }
    const auto sink = [&](const std::string&, const Shape& shape, int64_t first,
                          const Array& rows) {
      if (first == 0) out = {Array(rows.dtype(), shape), 0};
      EXPECT_EQ(first, out.next);
      if (rows.bytes() == 0) return;
      const size_t row = shape.empty() ? rows.bytes() : out.array.bytes() / shape[0];
      std::memcpy(out.array.mutable_data() + first * row, rows.data(), rows.bytes());
      out.next = first + (shape.empty() ? 1 : rows.shape()[0]);
    };
    return e.evaluate_by_rows(inputs, sources, {e.last()}, sink, {.bytes = 4096, .progress = {}});
  }

  Tensor at_once(const std::string& text) const {
    const Expression e = Expression::parse(text);
    Expression::Inputs inputs;
    for (const std::string& name : e.inputs()) {
      if (by_rows.contains(name)) inputs.emplace(name, Tensor::from(by_rows.at(name)));
      else inputs.insert(*whole.find(name));
    }
    return e.evaluate(inputs).back().second;
  }
};

Case the_case() {
  return {{{"x", random_array({kRows, kColumns}, 1)},
           {"y", random_array({kRows, kColumns}, 2)},
           {"i", random_array({kRows, kColumns}, 3, DType::I32)},
           {"h", random_array({kRows, kColumns}, 4, DType::F16)},
           {"column", random_array({kRows}, 5)}},
          {{"w", Tensor::from(random_array({kColumns}, 6))},
           {"z", Tensor::from(random_array({kRows, 1}, 7))},
           {"s", 2.5}}};
}

constexpr const char* kLongProduct = "prod(1 + x * 0.001)";

TEST(ExpressionByRows, GivesWhatTheWholeGives) {
  const Case c = the_case();
  // The number of passes over the inputs, and the expression.
  const std::pair<uint32_t, const char*> cases[] = {
      {1, "sigmoid(x * y + w) * s - x"},
      {1, "x * z + column[:, none]"},
      {1, "where(x > 0, i, -1)"},
      {1, "x[:, ::-1] + x[:, 2:3]"},
      {1, "softmax(x, axis=-1)"},
      {1, "softmax(x @ w[:, none] + s)"},
      {1, "sort(x, axis=1)"},
      {1, "take(x, [0, 2], axis=1)"},
      {1, "mean(x, axis=1)"},
      {1, "argmax(x, axis=1, keepdims=true)"},
      {1, "(x - mean(x, axis=-1, keepdims=true)) / std(x, axis=-1, keepdims=true)"},
      {1, "sum(x)"},
      {1, "sum(i, axis=0)"},
      {1, "sum(h, axis=(0, 1))"},
      {1, "mean(x * y, axis=0, keepdims=true)"},
      {1, "mean(i)"},
      {1, "min(x, axis=0)"},
      {1, "max(x) - min(y)"},
      {1, "any(x > 11.99, axis=0)"},
      {1, "all(x > -9)"},
      {1, kLongProduct},
      {1, "std(x + 100)"},
      {1, "sqrt(mean(x ** 2, axis=0)) + w"},
      {2, "x - mean(x, axis=0)"},
      {2, "sum((x - mean(x)) ** 2)"},
      {2, "(x > mean(x)) & (y < mean(y))"},
      {1, "x.shape[0] * sum(column)"},
      {1, "sum(x) + column.size"},
      {0, "x[10:13] * 2"},
      {1, "x"},
      {1, "arange(x.shape[0])[:, none] + x"},
  };
  for (const auto& [passes, text] : cases) {
    Collected out;
    const Expression::RowReport report = c.run(text, out);
    EXPECT_EQ(report.passes, passes) << text;
    EXPECT_GE(report.pieces, 5 * passes) << text;
    const Tensor expected = c.at_once(text);
    ASSERT_EQ(out.array.shape(), expected.shape()) << text;
    ASSERT_EQ(out.array.dtype(), expected.dtype()) << text;
    const auto got = Tensor::from(out.array).to(DType::F64).to_vector<double>();
    const auto right = expected.to(DType::F64).to_vector<double>();
    const double scale = is_float(expected.dtype()) ? 1 : 0;
    // The roundings of a product add up, here those of 7,021 factors in another order.
    const double eps = expected.dtype() == DType::F16           ? 1e-3
                       : text == std::string_view(kLongProduct) ? 2e-5
                                                                : 3e-6;
    for (size_t k = 0; k < got.size(); k++)
      ASSERT_NEAR(got[k], right[k], scale * eps * std::max(1.0, std::abs(right[k]))) << text;
  }
}

// Against plain loops in float64.
TEST(ExpressionByRows, Variances) {
  const Case c = the_case();
  const std::span<const float> x = c.by_rows.at("x").as<float>();
  Collected variance, normal;
  EXPECT_EQ(c.run("var(x, axis=0, correction=1)", variance).passes, 1u);
  EXPECT_EQ(c.run("d = x - mean(x, axis=0); d / sqrt(mean(d ** 2, axis=0))", normal).passes, 3u);
  for (size_t k = 0; k < kColumns; k++) {
    double mean = 0, squares = 0;
    for (size_t i = k; i < x.size(); i += kColumns) mean += x[i] / double{kRows};
    for (size_t i = k; i < x.size(); i += kColumns) squares += (x[i] - mean) * (x[i] - mean);
    EXPECT_NEAR(variance.array.as<float>()[k], squares / (kRows - 1), 1e-4);
    for (size_t i = k; i < x.size(); i += kColumns)
      EXPECT_NEAR(normal.array.as<float>()[i], (x[i] - mean) / std::sqrt(squares / kRows), 1e-5);
  }
}

TEST(ExpressionByRows, NaNComesThrough) {
  Case c = the_case();
  const std::span<const float> values = c.by_rows.at("x").as<float>();
  std::vector<float> spoilt(values.begin(), values.end());
  spoilt[5000] = NAN;
  c.by_rows["x"] = Array::from(spoilt, {kRows, kColumns});
  for (const char* text : {"min(x)", "max(x)", "sum(x)", "mean(x)", "std(x)"}) {
    Collected out;
    c.run(text, out);
    EXPECT_TRUE(std::isnan(out.array.as<float>()[0])) << text;
  }
}

TEST(ExpressionByRows, RefusesWhatNeedsAllRowsAndSaysWhere) {
  const Case c = the_case();
  const std::pair<const char*, const char*> cases[] = {
      {"softmax(x, axis=0)", "expression:1:1: softmax over the first axis needs all rows at once"},
      {"1 + x.T", "expression:1:7: T needs all rows at once"},
      {"argmax(x)", "argmax over the first axis"},
      {"reshape(x, [-1])", "reshape needs all rows at once"},
      {"x + x[::-1]", "the index takes the first axis apart"},
      {"exp(x)[5]", "the index takes the first axis apart"},
      {"x + (column * 2)[:7]", "takes the first axis apart"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      Collected out;
      c.run(text, out);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
      EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
      EXPECT_NE(error.remedy().find("HOLOGRAM_CACHE_SIZE_MB"), std::string::npos);
    }
  }
}

// A shape that only fits because the piece happens to be as long.
TEST(ExpressionByRows, ChecksShapesOfTheWhole) {
  const Case c = the_case();
  for (const char* text : {"x + column", "x + tensor([1, 2])[:, none]", "x * tensor([1, 2, 3])"}) {
    Collected out;
    EXPECT_THROW(c.run(text, out), Error) << text;
  }
}

}  // namespace
}  // namespace hologram
