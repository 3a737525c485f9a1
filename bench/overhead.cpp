// bench_overhead: what a small tensor costs beside the arithmetic. Every row is of f32 tensors of
// 1,000 elements, on one thread of the CPU or on the device that HOLOGRAM_BACKEND names; "mallocs"
// is how many times an iteration asks for memory, counted by the operators new of this program.
//
// On a device, a row is the time until the work is asked for, where its name does not say
// "completed": many are asked for, and the clock stands while the device catches up.
#include <benchmark/benchmark.h>

#include <chrono>

#include "allocation_count.hpp"
#include "driver_launch.hpp"
#include "hologram/hologram.hpp"

namespace {

using namespace hologram;

constexpr int64_t kCount = 1000;
constexpr int kAtOnce = 200;  // launches that a driver takes without waiting for one of them

Executor make_executor(bool fusion) {
  BackendConfig config = BackendConfig::from_environment();
  if (config.backend_type == BackendType::Auto && config.preference.empty())
    config.backend_type = BackendType::Cpu;
  config.num_threads = 1;
  config.fusion = fusion;
  return Executor::from_config(config);
}
const Executor& one_thread() {
  static const Executor executor = make_executor(true);
  return executor;
}
const Executor& unfused() {
  static const Executor executor = make_executor(false);
  return executor;
}

Tensor numbers(float first, const Executor& executor = one_thread()) {
  std::vector<float> values(kCount);
  for (size_t i = 0; i < values.size(); i++) values[i] = first + static_cast<float>(i % 7);
  return Tensor::from_vector(std::move(values), {kCount}, executor);
}

// `body` so many times, then `catch_up`, which is part of what is timed if `completed`.
template <class Body, class CatchUp>
void measure_batches(benchmark::State& state, int count, bool completed, Body body,
                     CatchUp catch_up) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 16; i++) body();
  catch_up();
  while (state.KeepRunningBatch(count)) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < count; i++) body();
    if (completed) catch_up();
    const std::chrono::duration<double> took = Clock::now() - start;
    state.SetIterationTime(took.count());
    catch_up();
  }
}

// Counts what an iteration asks for, once everything that is kept is there.
template <class Body>
void measure(benchmark::State& state, Body body) {
  for (int i = 0; i < 16; i++) body();
  const uint64_t before = times_asked();
  measure_batches(state, kAtOnce, false, body, [] { one_thread().synchronize(); });
  state.counters["mallocs"] = benchmark::Counter(static_cast<double>(times_asked() - before),
                                                 benchmark::Counter::kAvgIterations);
}

Tensor twelve(const Tensor& a, const Tensor& b) {
  Tensor t = a;
  for (int i = 0; i < 4; i++) t = (t + b) * a - b;
  return t;
}

// What else is to be done with the same numbers: a loop over vectors that are there.
void plain_loop(benchmark::State& state) {
  std::vector<float> a(kCount, 1), b(kCount, 2), c(kCount);
  measure(state, [&] {
    benchmark::DoNotOptimize(a.data());
    benchmark::DoNotOptimize(b.data());
    for (size_t i = 0; i < a.size(); i++) c[i] = a[i] + b[i];
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  });
}
BENCHMARK(plain_loop)->UseManualTime();

void add_built(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { benchmark::DoNotOptimize(a + b); });
}
BENCHMARK(add_built)->UseManualTime();

void add_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { (a + b).eval(); });
}
BENCHMARK(add_evaluated)->UseManualTime();

void add_number_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1);
  measure(state, [&] { (a + 2.5f).eval(); });
}
BENCHMARK(add_number_evaluated)->UseManualTime();

void twelve_built(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { benchmark::DoNotOptimize(twelve(a, b)); });
}
BENCHMARK(twelve_built)->UseManualTime();

void twelve_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { twelve(a, b).eval(); });
}
BENCHMARK(twelve_evaluated)->UseManualTime();

void twelve_one_by_one(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] {
    Tensor t = a;
    for (int i = 0; i < 4; i++) {
      t = (t + b).eval();
      t = (t * a).eval();
      t = (t - b).eval();
    }
  });
}
BENCHMARK(twelve_one_by_one)->UseManualTime();

void twelve_captured(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  const Graph graph = capture(twelve, a, b);
  const std::vector<Tensor> inputs = {a, b};
  measure(state, [&] { benchmark::DoNotOptimize(graph.launch(inputs)); });
}
BENCHMARK(twelve_captured)->UseManualTime();

// Kernels that depend on each other, which fusion would make one of.
Tensor hundred(const Tensor& a, const Tensor& b) {
  Tensor t = a;
  for (int i = 0; i < 100; i++) t = t + b;
  return t;
}

void hundred_captured(benchmark::State& state, int count) {
  const Tensor a = numbers(1, unfused()), b = numbers(2, unfused());
  const Graph graph = capture(hundred, a, b);
  state.SetLabel(graph.note());
  const std::vector<Tensor> inputs = {a, b};
  Tensor result;
  measure_batches(
      state, count, true, [&] { result = graph.launch(inputs)[0]; },
      [] { unfused().synchronize(); });
}
void hundred_captured_completed(benchmark::State& state) { hundred_captured(state, 1); }
BENCHMARK(hundred_captured_completed)->UseManualTime();
void twenty_hundreds_captured_completed(benchmark::State& state) { hundred_captured(state, 20); }
BENCHMARK(twenty_hundreds_captured_completed)->UseManualTime();

void hundred_evaluated_completed(benchmark::State& state) {
  const Tensor a = numbers(1, unfused()), b = numbers(2, unfused());
  measure_batches(
      state, 1, true, [&] { hundred(a, b).eval(); }, [] { unfused().synchronize(); });
}
BENCHMARK(hundred_evaluated_completed)->UseManualTime();

void add_evaluated_completed(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure_batches(
      state, 1, true, [&] { (a + b).eval(); }, [] { one_thread().synchronize(); });
}
BENCHMARK(add_evaluated_completed)->UseManualTime();

// The CUDA driver itself, without any of hologram.
void driver_launch(benchmark::State& state) {
  const auto driver = DriverLaunch::open();
  if (driver == nullptr) return state.SkipWithError("there is no CUDA device");
  measure_batches(
      state, kAtOnce, false, [&] { driver->launch(); }, [&] { driver->synchronize(); });
}
BENCHMARK(driver_launch)->UseManualTime();

void sum_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1);
  measure(state, [&] { ops::sum(a).eval(); });
}
BENCHMARK(sum_evaluated)->UseManualTime();

void softmax_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1).reshape({10, 100});
  measure(state, [&] {
    const Tensor e = ops::exp(a - ops::max(a, {1}, true));
    (e / ops::sum(e, {1}, true)).eval();
  });
}
BENCHMARK(softmax_evaluated)->UseManualTime();

void broadcast_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1).reshape({10, 100}), b = numbers(2).slice(0, {0, 100});
  measure(state, [&] { (a * b).eval(); });
}
BENCHMARK(broadcast_evaluated)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
