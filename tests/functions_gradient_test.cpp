// Gradients of functions that are made of others, against finite differences in f64: they are what
// their parts record.
#include <gtest/gtest.h>

#include <functional>

#include "hologram/gradient.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

// All elements, each with a weight of its own.
Tensor weighted(const Tensor& y) {
  const Tensor weights = ops::arange(0, y.size(), 1, DType::F64).reshape(y.shape());
  return ops::sum(y * ops::cos(weights + 0.5));
}

void check(const char* name, const Function& function, const Tensor& x) {
  const Tensor slope =
      gradient([&](const Tensor& t) { return weighted(function(t)); }, x).front().flatten();
  const std::vector<double> found = slope.to_vector<double>(), at = x.flatten().to_vector<double>();
  constexpr double kStep = 1e-6;
  for (size_t i = 0; i < at.size(); i++) {
    const auto moved = [&](double by) {
      std::vector<double> all = at;
      all[i] += by;
      return weighted(function(Tensor::from_vector(std::move(all), x.shape()))).item<double>();
    };
    const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    EXPECT_NEAR(found[i], expected, 1e-6 * std::max(1.0, std::abs(expected)))
        << name << ", element " << i;
  }
}

// Of different numbers in no order, none near to another or to 0.
Tensor numbers(const Shape& shape) {
  const Tensor n = ops::arange(0, count_of(shape), 1, DType::F64);
  return (ops::sin(n * 2.3 + 0.7) * 2 + n * 0.013).reshape(shape);
}

TEST(FunctionGradients, AreThoseOfFiniteDifferences) {
  using namespace ops;
  const Tensor square = numbers({3, 3}), matrix = numbers({3, 4}), line = numbers({5});
  const Tensor other = numbers({4, 2}) + 1.5, places = Tensor::from({2, 0, 2});
  const std::pair<const char*, Function> of_matrices[] = {
      {"tril", [](const Tensor& x) { return tril(x, 1); }},
      {"diagonal", [](const Tensor& x) { return diagonal(x, 1); }},
      {"trace", [](const Tensor& x) { return trace(x); }},
      {"einsum",
       [&](const Tensor& x) {
         return einsum("ij,jk->ki", {x, other});
       }},
      {"kron", [&](const Tensor& x) { return kron(x, other); }},
      {"vecdot", [](const Tensor& x) { return vecdot(x, x * 2 + 1); }},
      {"cdist", [](const Tensor& x) { return cdist(x, x + 10); }},
      {"cov", [](const Tensor& x) { return cov(x); }},
      {"corrcoef", [](const Tensor& x) { return corrcoef(x); }},
      {"rot90", [](const Tensor& x) { return rot90(x); }},
      {"index",
       [&](const Tensor& x) {
         return index(x, {places, places});
       }},
      {"index_put", [&](const Tensor& x) { return index_put(x, {places}, 2.5); }},
      {"index_put of values",
       [&](const Tensor& x) {
         return index_put(zeros({3, 4}, DType::F64), {places}, x, true);
       }},
      {"reflect",
       [](const Tensor& x) {
         return pad(x, {{1, 2}, {0, 3}}, PadMode::Reflect);
       }},
      {"wrap",
       [](const Tensor& x) {
         return pad(x, {{1, 2}, {5, 3}}, PadMode::Wrap);
       }},
      {"repeat",
       [](const Tensor& x) {
         return repeat(x, Tensor::from({2, 0, 3}), 0);
       }},
      {"diff", [](const Tensor& x) { return diff(x, 2); }},
      {"cummax", [](const Tensor& x) { return cummax(x).values; }},
      {"cummin", [](const Tensor& x) { return cummin(x, 0).values; }},
      {"quantile",
       [](const Tensor& x) {
         return quantile(x, {0.2, 0.9}, 1);
       }},
      {"median", [](const Tensor& x) { return median(x); }},
      {"nanmean", [](const Tensor& x) { return nanmean(x, 0); }},
      {"nanvar", [](const Tensor& x) { return nanvar(x, 1, 1); }},
      {"nanmax", [](const Tensor& x) { return nanmax(x, 1); }},
      {"nanmedian", [](const Tensor& x) { return nanmedian(x, 1); }},
      {"nan_to_num", [](const Tensor& x) { return nan_to_num(x); }},
  };
  for (const auto& [name, function] : of_matrices) check(name, function, matrix);
  check(
      "matrix_power", [](const Tensor& x) { return matrix_power(x, 3); }, square);
  check(
      "cross", [](const Tensor& x) { return cross(x, x.flip({0})); }, square);
  check(
      "diag", [](const Tensor& x) { return diag(x, -1); }, line);
  check(
      "meshgrid",
      [](const Tensor& x) {
        return meshgrid({x, x * 2})[1];
      },
      line);
  check(
      "interp",
      [](const Tensor& x) {
        return interp(x, Tensor::from({-4.0, 0.1, 4.0}), Tensor::from({1.0, 3.0, -2.0}));
      },
      line);
  check(
      "bincount",
      [&](const Tensor& x) {
        return bincount(places, x.slice(0, {0, 3}), 5);
      },
      line);
}

}  // namespace
}  // namespace hologram
