// Expressions over inputs that are read by pieces: the same values as of the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/ops.hpp"
#include "row_source.hpp"

namespace hologram {
namespace {

using tests::source_of;

constexpr int64_t kRows = 1003, kColumns = 7;

Array random_array(Shape shape, uint64_t key, DType dtype = DType::F32) {
  ops::seed(key);
  const Tensor x = ops::rand(std::move(shape)) * 20 - 8;
  return x.to(dtype).array();
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
      // What is taken from a list, chosen by indices, or as long as values say.
      {1, "topk(sum(x, axis=0), 2)[0]"},
      {1, "topk(x, 2, axis=1)[1]"},
      {2, "x + topk(mean(x, axis=0), 1)[0]"},
      {1, "w[abs(i) % w.size]"},
      {1, "w[argmax(mean(x, axis=0))]"},
      {2, "x * w[argmax(mean(x, axis=0))]"},
      {1, "mean(x, axis=0)[argmax(w)]"},
      {2, "x + nonzero(mean(x, axis=0) > mean(x))[0].size"},
      {1, "arange(w.size)[:nonzero(mean(x, axis=0) > mean(x))[0].shape[0]]"},
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

// Numbers over the full range of a dtype, or the same close together, or few small ones.
enum class Spread { All, Close, Small };

template <class T>
Array extreme_array(DType dtype, Spread spread) {
  const bool real = is_float(dtype);
  const double most = dtype == DType::F16   ? 65504
                      : dtype == DType::F64 ? std::numeric_limits<double>::max()
                                            : std::numeric_limits<float>::max() * 0.99;
  const auto top = static_cast<uint64_t>(std::numeric_limits<T>::max());
  std::vector<T> values;
  uint64_t random = 12345;
  for (int64_t i = 0; i < kRows * 3; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = random >> 11;
    const double unit = static_cast<double>(word) * 0x1p-52 - 1;
    if (spread == Spread::Small) values.push_back(static_cast<T>(word % 3));
    else if (!real && spread == Spread::All) values.push_back(static_cast<T>(random));
    else if (!real) values.push_back(static_cast<T>(top - word % 10));
    else if (spread == Spread::All) values.push_back(static_cast<T>(unit * most));
    else values.push_back(static_cast<T>(most - std::abs(unit) * most * 0x1p-6));
  }
  if (dtype == DType::Bool || is_float(dtype))
    return Tensor::from_vector(values, {kRows, 3}).to(dtype).array();
  return Array::from(values, {kRows, 3});
}

Array extreme_array(DType dtype, Spread spread) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return extreme_array<uint8_t>(dtype, spread);
    case DType::I8: return extreme_array<int8_t>(dtype, spread);
    case DType::I16: return extreme_array<int16_t>(dtype, spread);
    case DType::U16: return extreme_array<uint16_t>(dtype, spread);
    case DType::I32: return extreme_array<int32_t>(dtype, spread);
    case DType::U32: return extreme_array<uint32_t>(dtype, spread);
    case DType::I64: return extreme_array<int64_t>(dtype, spread);
    case DType::U64: return extreme_array<uint64_t>(dtype, spread);
    case DType::F64: return extreme_array<double>(dtype, spread);
    default: return extreme_array<float>(dtype, spread);
  }
}

// The elements of one column, exactly.
std::vector<long double> exact(const Array& array, size_t column) {
  std::vector<long double> values;
  const auto read = [&](const auto& all) {
    for (size_t i = column; i < all.size(); i += 3) values.push_back(all[i]);
  };
  const Tensor t = Tensor::from(array);
  if (array.dtype() == DType::U64) read(t.to_vector<uint64_t>());
  else if (is_float(array.dtype())) read(t.to(DType::F64).to_vector<double>());
  else read(t.to(DType::I64).to_vector<int64_t>());
  return values;
}

// Mean and spread in two passes of long double, whose range is wider than any of ours; taken from
// the first element, so that 64-bit integers close together are told apart.
struct Moments {
  long double sum = 0, mean = 0, variance = 0;
};
Moments moments_of(const std::vector<long double>& values) {
  Moments m;
  const auto n = static_cast<long double>(values.size());
  for (const long double v : values) m.sum += v;
  long double shift = 0;
  for (const long double v : values) shift += (v - values[0]) / n;
  m.mean = values[0] + shift;
  for (const long double v : values)
    m.variance += (v - values[0] - shift) * (v - values[0] - shift) / n;
  return m;
}

// Each dtype and range: what is exact in memory is the same, bit for bit, and the rest is as near
// to the right answer as its dtype allows, never wrapped, and infinite only if the right answer is.
TEST(ExpressionByRows, ReductionsOfEveryDTypeAndRange) {
  for (size_t d = 1; d < kDTypeCount; d++)
    for (const Spread spread : {Spread::All, Spread::Close, Spread::Small}) {
      const auto dtype = static_cast<DType>(d);
      const Case c = {{{"x", extreme_array(dtype, spread)}}, {}};
      const std::string what = fmt::format("{} {}", name_of(dtype), static_cast<int>(spread));
      std::vector<std::string> same = {"min", "max", "any", "all"};
      if (!is_float(dtype)) same.insert(same.end(), {"sum", "prod"});
      for (const std::string& name : same)
        for (const char* axes : {"(x)", "(x, axis=0)", "(x, axis=(0, 1), keepdims=true)"}) {
          const std::string text = name + axes;
          Collected out;
          c.run(text, out);
          const Array right = c.at_once(text).array();
          ASSERT_EQ(out.array.dtype(), right.dtype()) << what << text;
          ASSERT_EQ(out.array.shape(), right.shape()) << what << text;
          EXPECT_EQ(std::memcmp(out.array.data(), right.data(), right.bytes()), 0) << what << text;
        }
      const double eps = dtype == DType::F64    ? 1e-13
                         : dtype == DType::F16  ? 0x1p-11
                         : dtype == DType::BF16 ? 0x1p-8
                                                : 0x1p-23;
      const auto near = [&](const std::string& text, size_t k, long double right,
                            long double scale) {
        Collected out;
        c.run(text, out);
        const Tensor t = Tensor::from(out.array);
        const double most = t.dtype() == DType::F16   ? 65504
                            : t.dtype() == DType::F64 ? std::numeric_limits<double>::max()
                                                      : std::numeric_limits<float>::max();
        const double got = t.to(DType::F64).to_vector<double>().at(k);
        if (std::fabs(right) > most) EXPECT_TRUE(std::isinf(got)) << what << text << got;
        else
          EXPECT_NEAR(got, static_cast<double>(right), eps * static_cast<double>(scale))
              << what << text;
      };
      for (size_t k = 0; k < 3; k++) {
        const std::vector<long double> column = exact(c.by_rows.at("x"), k);
        const Moments m = moments_of(column);
        long double size = 0;
        for (const long double v : column) size += std::fabs(v) / static_cast<long double>(kRows);
        if (is_float(dtype)) near("sum(x, 0)", k, m.sum, size * kRows);
        near("mean(x, 0)", k, m.mean, size);
        near("var(x, 0)", k, m.variance, m.variance);
        near("std(x, 0)", k, std::sqrt(m.variance), std::sqrt(m.variance));
        near("std(x, 0, correction=1)", k, std::sqrt(m.variance * kRows / (kRows - 1)),
             std::sqrt(m.variance));
      }
    }
}

// Whichever part of the rows it is in, and though products of the others are infinite.
TEST(ExpressionByRows, AZeroMakesAProductZero) {
  Case c = the_case();
  for (const size_t at : {0, 5000}) {
    std::vector<double> values(kRows * kColumns, 1e300);
    values[at] = 0;
    c.by_rows["x"] = Array::from(values, {kRows, kColumns});
    Collected out;
    c.run("prod(x)", out);
    EXPECT_EQ(out.array.as<double>()[0], 0);
    values[1] = std::numeric_limits<double>::infinity();
    c.by_rows["x"] = Array::from(values, {kRows, kColumns});
    Collected of_infinity;
    c.run("prod(x)", of_infinity);
    EXPECT_TRUE(std::isnan(of_infinity.array.as<double>()[0]));
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

// Those of a list that belong to the rows of a piece.
TEST(ExpressionByRows, ListsAsLongAsTheRows) {
  std::string list;
  for (int64_t i = 0; i < kRows; i++) list += fmt::format("{}0.1", i == 0 ? "" : ", ");
  Case c = the_case();
  c.by_rows["d"] = extreme_array(DType::F64, Spread::Small);
  for (const std::string& text : {"column * [" + list + "]", "d[:, 0] + [" + list + "]",
                                  "([" + list + "] * 3)[:, none] + d"}) {
    Collected out;
    c.run(text, out);
    const Array right = c.at_once(text).array();
    ASSERT_EQ(out.array.dtype(), right.dtype());
    EXPECT_EQ(std::memcmp(out.array.data(), right.data(), right.bytes()), 0);
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
