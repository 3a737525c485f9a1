// bench_start: what there is to wait for before the first result, as JSON. An Executor of the CPU
// is made once a process, so a run of this program tells one time of that; the other times are
// medians.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <variant>
#include <vector>

#include "hologram/hologram.hpp"
#include "hologram/kernels.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"

namespace hologram {
namespace {

constexpr int kTimes = 51;

double microseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_microseconds(const std::function<void()>& work) {
  std::vector<double> all;
  all.reserve(kTimes);
  for (int i = 0; i < kTimes; i++) all.push_back(microseconds(work));
  return median(all);
}

Executor make_executor(Jit jit) {
  return Executor::builder().backend(BackendType::Cpu).threads(1).jit(jit).build();
}

std::vector<Tensor> inputs_on(const Executor& executor) {
  std::vector<Tensor> x;
  x.reserve(5);
  for (int k = 0; k < 5; k++)
    x.push_back(Tensor::from_vector(std::vector<float>(1000, 0.5f + static_cast<float>(k)), {1000},
                                    executor));
  return x;
}

// Twelve operations on five operands, as `hologram bench twelve`.
Tensor twelve(const std::vector<Tensor>& x) {
  Tensor t = x[0] * x[1];
  t = (t + x[2]) * x[3] - x[4];
  t = ops::maximum(t, 0) * 0.5 + x[0];
  t = ops::sqrt(ops::abs(t)) - x[1];
  return ops::minimum(t * t, 4);
}

// From a graph that an executor has not seen to the result of its code, less what the same takes
// when that code is there.
double graph_to_code() {
  std::vector<double> first, later;
  for (int i = 0; i < kTimes; i++) {
    const Executor executor = make_executor(Jit::Always);
    const std::vector<Tensor> x = inputs_on(executor);
    (x[0] + x[1]).eval();  // memory, threads
    first.push_back(microseconds([&] { twelve(x).eval(); }));
    for (int k = 0; k < 5; k++) later.push_back(microseconds([&] { twelve(x).eval(); }));
  }
  return median(first) - median(later);
}

int run() {
  const double started = microseconds([] { make_executor(Jit::On); });
  const Executor executor = make_executor(Jit::Always);
  const std::vector<Tensor> x = inputs_on(executor);
  const double first = microseconds([&] { twelve(x).eval(); });
  const Program program = kernels_of({twelve(x)}).at(0);
  const std::string text = program.text();
  const double parse = median_microseconds([&] { Program::parse(text); });
  const interp::Target target = interp::supported_targets().front();
  const auto compile = [&] {
    return jit::compile(program.optimized(), interp::kernel_table(target),
                        jit::isa_of(target.name));
  };
  const auto made = compile();
  const bool compiled = std::holds_alternative<std::shared_ptr<const jit::Compiled>>(made);
  fmt::print(
      "{{\"executor_us\": {:.1f}, \"first_result_us\": {:.1f}, \"graph_to_code_us\": {:.1f}, "
      "\"parse_us\": {:.1f}, \"jit_compile_us\": {}}}\n",
      started, first, graph_to_code(), parse,
      compiled ? fmt::format("{:.1f}", median_microseconds([&] { compile(); })) : "null");
  return 0;
}

}  // namespace
}  // namespace hologram

int main() { return hologram::run(); }
