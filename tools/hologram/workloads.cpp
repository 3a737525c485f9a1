#include "workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>

#include "hologram/error.hpp"
#include "hologram/ops.hpp"
#include "workload_rows.hpp"

namespace hologram::tool {
namespace {

using ops::ImageLayout;

constexpr int64_t kChannels = 64;  // of images, and of what becomes of them
constexpr double kEpsilon = 1e-5;  // what layer-norm adds to a variance

template <int inputs>
Plan to_one(int64_t n) {
  Plan plan = flat<inputs>(n);
  plan.result = {};
  return plan;
}

// As many positions in it as there are numbers, and then perhaps more numbers.
template <int numbers>
Plan with_positions(int64_t n) {
  Plan plan = flat<numbers + 1>(n);
  plan.positions = 1;
  return plan;
}

constexpr int64_t kFirst = 10;
Plan first_of(int64_t n) {
  Plan plan = flat<1>(n);
  plan.result = {std::min(n, kFirst)};
  return plan;
}

Plan rows(int64_t n) {
  const int64_t columns = std::clamp<int64_t>(n / 10, 1, 1000);
  const Shape shape = {n / columns, columns};
  return {{shape}, shape, columns, static_cast<double>(n)};
}

Plan row_sums_of(int64_t n) {
  Plan plan = rows(n);
  plan.result.pop_back();
  return plan;
}

Plan column_sums_of(int64_t n) {
  Plan plan = rows(n);
  plan.result = {plan.columns};
  return plan;
}

// Rows that are shorter than a block of lanes.
constexpr int64_t kNarrow = 32;
Plan narrow(int64_t n) {
  const int64_t rows = std::max<int64_t>(1, n / kNarrow);
  return {{{rows, kNarrow}}, {rows, kNarrow - 1}, kNarrow, static_cast<double>(rows * kNarrow)};
}
Plan narrow_sums_of(int64_t n) {
  Plan plan = narrow(n);
  plan.result = {kNarrow};
  return plan;
}

Plan rows_with_two(int64_t n) {
  Plan plan = rows(n);
  plan.inputs.resize(3, {plan.columns});
  return plan;
}

Plan turned(int64_t n) {
  Plan plan = rows(n);
  std::swap(plan.result[0], plan.result[1]);
  return plan;
}

int64_t side_of(double n) { return std::max<int64_t>(1, std::llround(std::sqrt(n))); }

Plan squares(int64_t n) {
  const int64_t side = side_of(static_cast<double>(n));
  const auto length = static_cast<double>(side);
  return {{{side, side}, {side, side}}, {side, side}, side, length * length * length};
}

// A row by a matrix or a matrix by a column; the matrix comes first.
template <bool from_left>
Plan with_vector(int64_t n) {
  const int64_t side = side_of(static_cast<double>(n));
  const Shape vector = from_left ? Shape{1, side} : Shape{side, 1};
  return {{{side, side}, vector}, vector, side, static_cast<double>(side * side)};
}

struct Convolution {
  int64_t kernel = 3, stride = 1;
  bool depthwise = false, planes = false;  // planes: channels first

  ops::Conv2d options() const {
    return {.stride = stride,
            .padding = kernel / 2,
            .groups = depthwise ? kChannels : 1,
            .layout = planes ? ImageLayout::Nchw : ImageLayout::Nhwc};
  }
  int64_t depth() const { return depthwise ? 1 : kChannels; }  // channels that an output sees
};
constexpr Convolution kPlain, kPointwise{.kernel = 1}, kDepthwise{.depthwise = true},
    kStriding{.stride = 2}, kPlanes{.planes = true};

template <const Convolution& c>
Plan images(int64_t n) {
  const int64_t side = side_of(static_cast<double>(n) / static_cast<double>(kChannels)),
                length = (side - 1) / c.stride + 1;
  const auto image = [](int64_t pixels) {
    return c.planes ? Shape{1, kChannels, pixels, pixels} : Shape{1, pixels, pixels, kChannels};
  };
  const Shape weight = c.planes ? Shape{kChannels, c.depth(), c.kernel, c.kernel}
                                : Shape{c.kernel, c.kernel, c.depth(), kChannels};
  return {{image(side), weight},
          image(length),
          side,
          static_cast<double>(length * length * kChannels * c.kernel * c.kernel * c.depth())};
}

template <const Convolution& c>
Tensor convolved(const Tensors& x) {
  return ops::conv2d(x[0], x[1], c.options());
}

size_t position(const Workload& work, size_t i) {
  return static_cast<size_t>(reinterpret_cast<const int64_t*>(work.inputs[1].data())[i]);
}

// What is not expected of one element alone is computed for all when the first is asked for. The
// same work of the same size has the same inputs.
template <void (*fill)(const Workload& work, std::vector<double>& all)>
double of_all(const Workload& work, size_t i) {
  static std::vector<double> all;
  if (all.size() != work.inputs[0].size()) {
    all.resize(work.inputs[0].size());
    for (size_t k = 0; k < all.size(); k++) all[k] = value(work, 0, k);
    fill(work, all);
  }
  return all[i];
}
void sort_all(const Workload&, std::vector<double>& all) { std::ranges::sort(all); }
void sort_down(const Workload&, std::vector<double>& all) {
  std::ranges::sort(all, std::greater());
}
void sum_all(const Workload&, std::vector<double>& all) {
  std::partial_sum(all.begin(), all.end(), all.begin());
}
void add_all(const Workload& work, std::vector<double>& all) {
  for (size_t i = 0; i < all.size(); i++) all[position(work, i)] += value(work, 2, i);
}

double reversed(const Workload& work, size_t i) {
  return value(work, 0, work.inputs[0].size() - 1 - i);
}

double transposed(const Workload& work, size_t i) {
  const size_t count = work.inputs[0].size() / static_cast<size_t>(work.columns);
  return value(work, 0, i % count * static_cast<size_t>(work.columns) + i / count);
}

size_t columns_of(const Workload& work) { return static_cast<size_t>(work.columns); }

template <const Convolution& c>
double convolution(const Workload& work, size_t i) {
  const int64_t side = work.columns, length = (side - 1) / c.stride + 1;
  const auto at = static_cast<int64_t>(i);
  const int64_t pixel = c.planes ? at % (length * length) : at / kChannels,
                output = c.planes ? at / (length * length) : at % kChannels;
  double sum = 0;
  for (int64_t k = 0; k < c.kernel * c.kernel; k++) {
    const int64_t y = pixel / length * c.stride + k / c.kernel - c.kernel / 2,
                  x = pixel % length * c.stride + k % c.kernel - c.kernel / 2;
    if (y < 0 || y >= side || x < 0 || x >= side) continue;
    for (int64_t d = 0; d < c.depth(); d++) {
      const int64_t channel = c.depthwise ? output : d, from = y * side + x,
                    source = c.planes ? channel * side * side + from : from * kChannels + channel,
                    weight = c.planes ? (output * c.depth() + d) * c.kernel * c.kernel + k
                                      : (k * c.depth() + d) * kChannels + output;
      sum +=
          value(work, 0, static_cast<size_t>(source)) * value(work, 1, static_cast<size_t>(weight));
    }
  }
  return sum;
}

double row_sum(const Workload& work, size_t row) {
  const size_t columns = columns_of(work);
  double sum = 0;
  for (size_t j = 0; j < columns; j++) sum += value(work, 0, row * columns + j);
  return sum;
}

double column_sum(const Workload& work, size_t column) {
  double sum = 0;
  for (size_t i = column; i < work.inputs[0].size(); i += columns_of(work))
    sum += value(work, 0, i);
  return sum;
}

double of_slice(const Workload& work, size_t i) {
  const size_t columns = columns_of(work), kept = columns - 1;
  return value(work, 0, i / kept * columns + i % kept) + 1;
}

double whole_sum(const Workload& work, size_t) {
  double sum = 0;
  for (size_t i = 0; i < work.inputs[0].size(); i++) sum += value(work, 0, i);
  return sum;
}

double dot(const Workload& work, size_t) {
  double sum = 0;
  for (size_t i = 0; i < work.inputs[0].size(); i++) sum += value(work, 0, i) * value(work, 1, i);
  return sum;
}

double softmax(const Workload& work, size_t i) {
  const size_t columns = columns_of(work);
  double sum = 0;
  for (size_t j = 0; j < columns; j++)
    sum += std::exp(value(work, 0, i / columns * columns + j) - value(work, 0, i));
  return 1 / sum;
}

Tensor layer_norm(const Tensors& x) {
  const Tensor from_mean = x[0] - ops::mean(x[0], -1, true);
  const Tensor variance = ops::mean(from_mean * from_mean, -1, true);
  return from_mean * ops::rsqrt(variance + kEpsilon) * x[1] + x[2];
}

double layer_norm_of(const Workload& work, size_t i) {
  const size_t columns = columns_of(work), row = i / columns, column = i % columns;
  const double mean = row_sum(work, row) / static_cast<double>(columns);
  double squares = 0;
  for (size_t j = 0; j < columns; j++) {
    const double from_mean = value(work, 0, row * columns + j) - mean;
    squares += from_mean * from_mean;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(columns) + kEpsilon);
  return (value(work, 0, i) - mean) / deviation * value(work, 1, column) + value(work, 2, column);
}

double product(const Workload& work, size_t i) {
  const size_t side = columns_of(work);
  double sum = 0;
  for (size_t k = 0; k < side; k++)
    sum += value(work, 0, i / side * side + k) * value(work, 1, k * side + i % side);
  return sum;
}

double row_by_matrix(const Workload& work, size_t i) {
  const size_t side = columns_of(work);
  double sum = 0;
  for (size_t k = 0; k < side; k++) sum += value(work, 1, k) * value(work, 0, k * side + i);
  return sum;
}

double matrix_by_column(const Workload& work, size_t i) {
  const size_t side = columns_of(work);
  double sum = 0;
  for (size_t k = 0; k < side; k++) sum += value(work, 0, i * side + k) * value(work, 1, k);
  return sum;
}

Tensor matrix_product(const Tensors& x) { return ops::matmul(x[0], x[1]); }

Tensor twelve(const Tensors& x) {
  Tensor t = x[0] * x[1];
  t = (t + x[2]) * x[3] - x[4];
  t = ops::maximum(t, 0) * 0.5 + x[0];
  t = ops::sqrt(ops::abs(t)) - x[1];
  return ops::minimum(t * t, 4);
}

double twelve_of(const Workload& work, size_t i) {
  const auto x = [&](size_t k) { return value(work, k, i); };
  double t = (x(0) * x(1) + x(2)) * x(3) - x(4);
  t = std::sqrt(std::abs(std::max(t, 0.0) * 0.5 + x(0))) - x(1);
  return std::min(t * t, 4.0);
}

double sigmoid_chain(const Workload& w, size_t i) {
  const double x = value(w, 0, i) * value(w, 1, i) + value(w, 2, i);
  return 1 / (1 + std::exp(-x)) * value(w, 3, i) - value(w, 4, i);
}

double gelu(const Workload& w, size_t i) {
  const double x = value(w, 0, i);
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}

constexpr Row kRows[] = {
    {"add", flat<2>, 1, 1e-6, [](const Tensors& x) { return x[0] + x[1]; },
     [](const Workload& w, size_t i) { return value(w, 0, i) + value(w, 1, i); }},
    {"fma", flat<3>, 2, 1e-6, [](const Tensors& x) { return ops::fma(x[0], x[1], x[2]); },
     [](const Workload& w, size_t i) { return value(w, 0, i) * value(w, 1, i) + value(w, 2, i); }},
    {"sigmoid", flat<5>, 18, 1e-6,
     [](const Tensors& x) { return ops::sigmoid(x[0] * x[1] + x[2]) * x[3] - x[4]; },
     sigmoid_chain},
    // Here and there the root is taken of what is left of a difference.
    {"twelve", flat<5>, 12, 1e-5, twelve, twelve_of, false, DType::F32, 1e-2},
    {"gelu", flat<1>, 20, 1e-6, [](const Tensors& x) { return ops::gelu(x[0]); }, gelu},
    {"exp", flat<1>, 14, 1e-6, [](const Tensors& x) { return ops::exp(x[0]); },
     [](const Workload& w, size_t i) { return std::exp(value(w, 0, i)); }},
    {"sum", to_one<1>, 1, 1e-5, [](const Tensors& x) { return ops::sum(x[0]); }, whole_sum},
    {"dot", to_one<2>, 2, 1e-5, [](const Tensors& x) { return ops::dot(x[0], x[1]); }, dot},
    {"row-sums", row_sums_of, 1, 1e-5, [](const Tensors& x) { return ops::sum(x[0], -1); },
     row_sum},
    {"column-sums", column_sums_of, 1, 1e-5, [](const Tensors& x) { return ops::sum(x[0], 0); },
     column_sum},
    {"softmax", rows, 16, 1e-6, [](const Tensors& x) { return ops::softmax(x[0]); }, softmax},
    {"layer-norm", rows_with_two, 9, 1e-5, layer_norm, layer_norm_of},
    {"sort", flat<1>, 1, 1e-7, [](const Tensors& x) { return ops::sort(x[0]); }, of_all<sort_all>},
    {"topk", first_of, 1, 1e-7,
     [](const Tensors& x) { return ops::topk(x[0], std::min(x[0].size(), kFirst)).values; },
     of_all<sort_down>},
    {"cumsum", flat<1>, 1, 1e-4, [](const Tensors& x) { return ops::cumsum(x[0], 0); },
     of_all<sum_all>},
    {"take", with_positions<1>, 1, 1e-7, [](const Tensors& x) { return ops::take(x[0], x[1], 0); },
     [](const Workload& w, size_t i) { return value(w, 0, position(w, i)); }},
    {"scatter-add", with_positions<2>, 1, 1e-5,
     [](const Tensors& x) { return ops::scatter_add(x[0], x[1], x[2], 0); }, of_all<add_all>},
    {"flip", flat<1>, 1, 1e-7,
     [](const Tensors& x) {
       return ops::contiguous(x[0].slice(0, {{}, {}, -1}));
     },
     reversed},
    {"transpose", turned, 1, 1e-7,
     [](const Tensors& x) { return ops::contiguous(x[0].transpose()); }, transposed},
    {"slice", narrow, 1, 1e-6,
     [](const Tensors& x) {
       return x[0].slice(1, {0, -1}) + 1;
     },
     of_slice},
    {"narrow-sums", narrow_sums_of, 1, 1e-4, [](const Tensors& x) { return ops::sum(x[0], 0); },
     column_sum},
    {"matmul", squares, 2, 1e-4, matrix_product, product, true},
    {"matmul-f64", squares, 2, 1e-12, matrix_product, product, true, DType::F64},
    {"vector-matrix", with_vector<true>, 2, 1e-5,
     [](const Tensors& x) { return ops::matmul(x[1], x[0]); }, row_by_matrix},
    {"matrix-vector", with_vector<false>, 2, 1e-5, matrix_product, matrix_by_column},
    {"conv2d", images<kPlain>, 2, 1e-4, convolved<kPlain>, convolution<kPlain>, true},
    {"conv2d-1x1", images<kPointwise>, 2, 1e-4, convolved<kPointwise>, convolution<kPointwise>,
     true},
    {"conv2d-depthwise", images<kDepthwise>, 2, 1e-4, convolved<kDepthwise>,
     convolution<kDepthwise>, true},
    {"conv2d-stride2", images<kStriding>, 2, 1e-4, convolved<kStriding>, convolution<kStriding>,
     true},
    {"conv2d-nchw", images<kPlanes>, 2, 1e-4, convolved<kPlanes>, convolution<kPlanes>, true},
};

double product_of(const Shape& shape) {
  double count = 1;
  for (const int64_t length : shape) count *= static_cast<double>(length);
  return count;
}

Array numbers(DType dtype, const Shape& shape, float least, std::minstd_rand& random) {
  Array array(dtype, shape);
  std::uniform_real_distribution<float> uniform(least, 2);
  if (dtype == DType::F64)
    for (double& v : array.mutable_as<double>()) v = uniform(random);
  else
    for (float& v : array.mutable_as<float>()) v = uniform(random);
  return array;
}

Array positions(const Shape& shape, std::minstd_rand& random) {
  Array array(DType::I64, shape);
  std::uniform_int_distribution<int64_t> uniform(0, count_of(shape) - 1);
  for (int64_t& v : array.mutable_as<int64_t>()) v = uniform(random);
  return array;
}

double value_of(const Array& array, size_t i) {
  return array.dtype() == DType::F64 ? array.as<double>()[i] : array.as<float>()[i];
}

bool differ(double a, double b, double tolerance) {
  return !(std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)));
}

template <class T>
std::string difference(const Workload& work, const Array& result, const Array& right) {
  const std::span<const T> got = result.as<T>(), want = right.as<T>();
  for (size_t i = 0; i < got.size(); i++)
    if (differ(got[i], want[i], work.apart))
      return fmt::format("{}: element {} is {}, not about {}", work.name, i, got[i], want[i]);
  return {};
}

}  // namespace

std::vector<std::string> workload_names(bool doubles, bool functions) {
  std::vector<std::string> names;
  for (const Row& row : kRows)
    if (doubles || row.dtype != DType::F64) names.emplace_back(row.name);
  if (functions)
    for (const Row& row : function_rows()) names.emplace_back(row.name);
  return names;
}

Workload make_workload(std::string_view name, int64_t n) {
  const auto of_name = [&](const Row& row) { return row.name == name; };
  const auto* const usual = std::find_if(std::begin(kRows), std::end(kRows), of_name);
  const Row& row =
      usual != std::end(kRows) ? *usual : *std::ranges::find_if(function_rows(), of_name);
  const Plan plan = row.plan(n);
  Workload work{.name = row.name,
                .inputs = {},
                .result = plan.result,
                .columns = plan.columns,
                .flops = row.flops * plan.terms,
                .by_flops = row.by_flops,
                .tolerance = row.tolerance,
                .apart = row.apart,
                .compute = row.compute,
                .expected = row.expected};
  std::minstd_rand random(1);
  for (const Shape& shape : plan.inputs) {
    const bool holds_positions = static_cast<int>(work.inputs.size()) == plan.positions;
    work.inputs.push_back(holds_positions ? positions(shape, random)
                                          : numbers(row.dtype, shape, plan.least, random));
    work.bytes += static_cast<double>(work.inputs.back().bytes());
  }
  work.bytes += product_of(work.result) * static_cast<double>(size_of(row.dtype));
  return work;
}

std::string mistake(const Workload& work, const Array& result) {
  if (result.dtype() != work.dtype() || result.shape() != work.result)
    return fmt::format("{}: another dtype or shape than expected", work.name);
  const size_t steps = std::min<size_t>(result.size(), 1000);
  for (size_t k = 0; k < steps; k++) {
    const size_t i = steps == 1 ? 0 : k * (result.size() - 1) / (steps - 1);
    const double want = work.expected(work, i), got = value_of(result, i);
    if (differ(got, want, work.tolerance))
      return fmt::format("{}: element {} is {}, not {}", work.name, i, got, want);
  }
  return {};
}

void refuse_mistake(const std::string& who, const Workload& work, const Array& result,
                    const Array& right) {
  std::string wrong = mistake(work, result);
  if (wrong.empty() && !right.empty())
    wrong = work.dtype() == DType::F64 ? difference<double>(work, result, right)
                                       : difference<float>(work, result, right);
  if (!wrong.empty())
    throw Error(ErrorKind::DeviceLost, "a wrong result of " + who + ": " + wrong,
                "Do not rely on this device; `hologram devices` checks it, too.");
}

}  // namespace hologram::tool
