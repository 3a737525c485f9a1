#include "workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <random>
#include <thread>

#include "hologram/error.hpp"
#include "hologram/ops.hpp"

namespace hologram::tool {
namespace {

using Tensors = std::vector<Tensor>;

enum class Form { Flat, Rows, Square, Images };

constexpr int64_t kChannels = 64;  // of images, and of what becomes of them
const Shape kWeight = {3, 3, kChannels, kChannels};

struct Row {
  std::string_view name;
  int inputs;
  Form form;
  bool reduces;  // flat: to one number; rows: to one a row
  double flops;  // an element; of a product and of images two a term of a sum
  double tolerance;
  Tensor (*compute)(const Tensors& x);
  double (*expected)(const Workload& work, size_t i);
};

double value(const Workload& work, size_t input, size_t i) {
  return work.inputs[input].as<float>()[i];
}

double row_sum(const Workload& work, size_t row) {
  const auto columns = static_cast<size_t>(work.shape.back());
  double sum = 0;
  for (size_t j = 0; j < columns; j++) sum += value(work, 0, row * columns + j);
  return sum;
}

double softmax(const Workload& work, size_t i) {
  const auto columns = static_cast<size_t>(work.shape.back());
  double sum = 0;
  for (size_t j = 0; j < columns; j++)
    sum += std::exp(value(work, 0, i / columns * columns + j) - value(work, 0, i));
  return 1 / sum;
}

double product(const Workload& work, size_t i) {
  const auto side = static_cast<size_t>(work.shape.back());
  double sum = 0;
  for (size_t k = 0; k < side; k++)
    sum += value(work, 0, i / side * side + k) * value(work, 1, k * side + i % side);
  return sum;
}

double convolution(const Workload& work, size_t i) {
  const auto side = work.shape[1], at = static_cast<int64_t>(i);
  const int64_t output = at % kChannels, column = at / kChannels % side,
                row = at / kChannels / side;
  double sum = 0;
  for (int64_t k = 0; k < 9; k++) {
    const int64_t y = row + k / 3 - 1, x = column + k % 3 - 1;
    if (y < 0 || y >= side || x < 0 || x >= side) continue;
    for (int64_t c = 0; c < kChannels; c++)
      sum += value(work, 0, static_cast<size_t>((y * side + x) * kChannels + c)) *
             value(work, 1, static_cast<size_t>((k * kChannels + c) * kChannels + output));
  }
  return sum;
}

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

constexpr Row kRows[] = {
    {"add", 2, Form::Flat, false, 1, 1e-6, [](const Tensors& x) { return x[0] + x[1]; },
     [](const Workload& w, size_t i) { return value(w, 0, i) + value(w, 1, i); }},
    {"fma", 3, Form::Flat, false, 2, 1e-6,
     [](const Tensors& x) { return ops::fma(x[0], x[1], x[2]); },
     [](const Workload& w, size_t i) { return value(w, 0, i) * value(w, 1, i) + value(w, 2, i); }},
    {"sigmoid", 5, Form::Flat, false, 18, 1e-6,
     [](const Tensors& x) { return ops::sigmoid(x[0] * x[1] + x[2]) * x[3] - x[4]; },
     sigmoid_chain},
    {"twelve", 5, Form::Flat, false, 12, 1e-5, twelve, twelve_of},
    {"sum", 1, Form::Flat, true, 1, 1e-5, [](const Tensors& x) { return ops::sum(x[0]); },
     [](const Workload& w, size_t) { return row_sum(w, 0); }},
    {"row-sums", 1, Form::Rows, true, 1, 1e-5, [](const Tensors& x) { return ops::sum(x[0], -1); },
     row_sum},
    {"softmax", 1, Form::Rows, false, 16, 1e-6, [](const Tensors& x) { return ops::softmax(x[0]); },
     softmax},
    {"matmul", 2, Form::Square, false, 2, 1e-4,
     [](const Tensors& x) { return ops::matmul(x[0], x[1]); }, product},
    {"conv2d", 2, Form::Images, false, 2, 1e-4,
     [](const Tensors& x) { return ops::conv2d(x[0], x[1], {.padding = 1}); }, convolution},
};

double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::Wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const Contestant& contestant, int times, Clock clock) {
  const double start = now(clock);
  for (int k = 0; k < times; k++) contestant.run();
  return now(clock) - start;
}

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Workload make_workload(std::string_view name, int64_t n) {
  const Row& row = *std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.name == name; });
  Workload work{.name = row.name,
                .shape = {n},
                .inputs = {},
                .result = {},
                .flops = row.flops,
                .by_flops = row.form == Form::Square || row.form == Form::Images,
                .tolerance = row.tolerance,
                .compute = row.compute,
                .expected = row.expected};
  if (row.form == Form::Rows) {
    const int64_t columns = std::clamp<int64_t>(n / 10, 1, 1000);
    work.shape = {n / columns, columns};
  }
  if (row.form == Form::Square) {
    const int64_t side = std::llround(std::sqrt(static_cast<double>(n)));
    work.shape = {side, side};
    work.flops *= static_cast<double>(side);
  }
  if (row.form == Form::Images) {
    const double pixels = static_cast<double>(n) / static_cast<double>(kChannels);
    const int64_t side = std::max<int64_t>(1, std::llround(std::sqrt(pixels)));
    work.shape = {1, side, side, kChannels};
    work.flops *= static_cast<double>(9 * kChannels);
  }
  work.result = work.shape;
  if (row.reduces) work.result.pop_back();
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 2);
  for (int k = 0; k < row.inputs; k++) {
    Array array(DType::F32, row.form == Form::Images && k == 1 ? kWeight : work.shape);
    for (float& v : array.mutable_as<float>()) v = uniform(random);
    work.inputs.push_back(array);
    work.bytes += static_cast<double>(array.bytes());
  }
  work.flops *= static_cast<double>(work.inputs[0].size());
  double results = 4;
  for (const int64_t length : work.result) results *= static_cast<double>(length);
  work.bytes += results;
  return work;
}

std::string mistake(const Workload& work, std::span<const float> result) {
  const size_t steps = std::min<size_t>(result.size(), 1000);
  for (size_t k = 0; k < steps; k++) {
    const size_t i = steps == 1 ? 0 : k * (result.size() - 1) / (steps - 1);
    const double want = work.expected(work, i), got = result[i];
    if (!(std::abs(got - want) <= work.tolerance * std::max(1.0, std::abs(want))))
      return fmt::format("{}: element {} is {}, not {}", work.name, i, got, want);
  }
  return {};
}

void refuse_mistake(const std::string& who, const Workload& work, std::span<const float> result) {
  if (const std::string wrong = mistake(work, result); !wrong.empty())
    throw Error(ErrorKind::DeviceLost, "a wrong result of " + who + ": " + wrong,
                "Do not rely on this device; `hologram devices` checks it, too.");
}

void race(std::vector<Contestant>& contestants, int rounds, Clock clock) {
  constexpr double kShortest = 2e-3;
  // Worker threads stay a while with whom they worked for last, and so do caches.
  constexpr auto kHandOver = std::chrono::milliseconds(2);
  std::vector<int> times;
  for (Contestant& c : contestants) {
    c.run();  // whatever happens once: compiling, memory
    const double once = seconds_of(c, 1, clock);
    times.push_back(std::max(1, static_cast<int>(kShortest / std::max(once, 1e-7))));
    c.best = INFINITY;
  }
  for (int round = 0; round < rounds; round++)
    for (size_t i = 0; i < contestants.size(); i++) {
      std::this_thread::sleep_for(kHandOver);
      contestants[i].run();
      contestants[i].best =
          std::min(contestants[i].best, seconds_of(contestants[i], times[i], clock) / times[i]);
    }
}

}  // namespace hologram::tool
