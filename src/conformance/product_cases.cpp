// Products of matrices and vectors, for every dtype, whoever computes them.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/sums.hpp"
#include "hologram/linear.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

struct Product {
  std::string_view name;
  int64_t batch, rows, inner, columns;
  bool reversed_a = false, reversed_b = false;  // how the operands lie
};

constexpr Product kProducts[] = {
    {"small", 0, 3, 4, 5},
    {"odd", 0, 37, 53, 29},
    {"transposed a", 0, 21, 34, 18, true},
    {"transposed b", 0, 21, 34, 18, false, true},
    {"both transposed", 0, 19, 23, 31, true, true},
    {"one row", 0, 1, 100, 64},
    {"one column", 0, 64, 100, 1},
    {"long inner", 0, 5, 3000, 7},
    {"inner of nothing", 0, 4, 0, 6},
    {"no rows", 0, 0, 4, 6},
    {"batch", 5, 9, 16, 11},
};

Finding multiply(const Suite& suite, const Product& p, DType dtype) {
  Generator generator(seed_of("matmul", dtype, p.name));
  const auto shape = [&](int64_t m, int64_t n) {
    return p.batch == 0 ? Shape{m, n} : Shape{p.batch, m, n};
  };
  const Array a = plain_values(dtype, shape(p.rows, p.inner), -1, 1, generator),
              b = plain_values(dtype, shape(p.inner, p.columns), -1, 1, generator);
  const auto placed = [&](const Array& values, bool reversed) {
    return laid_out({"", reversed ? Arrangement::Reversed : Arrangement::Dense, values.shape()},
                    values, suite.ways().plain);
  };
  const Array c = ops::matmul(placed(a, p.reversed_a), placed(b, p.reversed_b)).array();
  Finding found;
  if (c.dtype() != dtype || c.shape() != shape(p.rows, p.columns)) {
    found.wrong = "dtype or shape is wrong";
    return found;
  }
  found.bound = is_float(dtype) ? 1 : 0;
  found.elements = c.size();
  const auto rows = static_cast<size_t>(p.rows), inner = static_cast<size_t>(p.inner),
             columns = static_cast<size_t>(p.columns);
  for (size_t i = 0; i < c.size(); i++) {
    const size_t column = i % columns, row = i / columns % rows, batch = i / columns / rows;
    SumOfProducts sum(dtype);
    for (size_t k = 0; k < inner; k++)
      sum.take(a, (batch * rows + row) * inner + k, b, (batch * inner + k) * columns + column);
    sum.judge(c, i, static_cast<double>(p.inner) + 1, found);
  }
  return found;
}

// What libraries may compute before they store a product. In a function of its own, so that nobody
// holds the product.
struct End {
  std::string_view name;
  bool bias, relu;
  Tensor of(const Tensor& product, const Tensor& b) const {
    const Tensor sum = bias ? product + b : product;
    return relu ? ops::relu(sum) : sum;
  }
};
constexpr End kEnds[] = {
    {"then relu", false, true}, {"then a bias", true, false}, {"then a bias, relu", true, true}};

// With NaN, infinities and zeros in the product and in the bias: the bits of one after the other.
Finding end(const Suite& suite, const Product& p, const End& end, DType dtype) {
  Generator generator(seed_of("matmul", dtype, end.name));
  const auto column = [](std::vector<float> special, int64_t count) {
    special.resize(static_cast<size_t>(count), 1);
    return Array::from(special, {count, 1});
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNaN = std::numeric_limits<float>::quiet_NaN();
  const Array a = plain_values(dtype, {p.rows, p.inner}, -1, 1, generator),
              b = plain_values(dtype, {p.inner, p.columns}, -1, 1, generator),
              c = plain_values(dtype, {p.columns, 1}, -1, 1, generator),
              rows = column({kNaN, kInfinity, -kInfinity, 0, -0.0F, 1e-30F, -1e-30F}, p.rows),
              columns = column({0, -0.0F, kNaN, kInfinity, -kInfinity, 1e-30F}, p.columns);
  const auto on = [&](const Array& array, const Executor& executor) {
    return Tensor::from(array, executor).to(dtype);
  };
  const auto layer = [&](const Executor& executor) {
    const Tensor x = (on(a, executor) * on(rows, executor)).eval(), w = on(b, executor).eval(),
                 bias = (on(c, executor) * on(columns, executor)).reshape({p.columns}).eval();
    const auto at_once = [&] { return end.of(ops::matmul(x, w), bias); };
    const Array product = ops::matmul(x, w).array();
    return std::array{at_once().array(), end.of(on(product, executor), bias).array()};
  };
  const auto [fused, apart] = layer(suite.ways().plain);
  Finding found;
  found.elements = fused.size();
  found.wrong = difference(fused, apart);
  if (found.wrong.empty()) found.wrong = difference(fused, layer(suite.ways().unfused)[0]);
  return found;
}

}  // namespace

void product_cases(Suite& suite) {
  constexpr Product kEnded[] = {{"", 0, 37, 53, 29}, {"", 0, 128, 96, 192}};
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
    for (const End& each : kEnds)
      suite.attempt("matmul", dtype, each.name, [&] {
        Finding found = end(suite, kEnded[0], each, dtype);
        return found.wrong.empty() ? end(suite, kEnded[1], each, dtype) : found;
      });
  for (const DType dtype : all_dtypes())
    for (const Product& p : kProducts)
      suite.attempt("matmul", dtype, p.name, [&] { return multiply(suite, p, dtype); });
}

}  // namespace hologram::conformance
