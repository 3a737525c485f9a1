// bench_overhead: what a small tensor costs beside the arithmetic. Every row is of f32 tensors of
// 1,000 elements on one thread; "mallocs" is how many times an iteration asks for memory, counted
// by the operators new of this program.
#include <benchmark/benchmark.h>

#include "asked.hpp"
#include "hologram/hologram.hpp"

namespace {

using namespace hologram;

constexpr int64_t kCount = 1000;

const Executor& one_thread() {
  static const Executor executor = [] {
    BackendConfig config = BackendConfig::from_environment();
    config.backend_type = BackendType::Cpu;
    config.num_threads = 1;
    return Executor::from_config(config);
  }();
  return executor;
}

Tensor numbers(float first) {
  std::vector<float> values(kCount);
  for (size_t i = 0; i < values.size(); i++) values[i] = first + static_cast<float>(i % 7);
  return Tensor::from_vector(std::move(values), {kCount}, one_thread());
}

// Counts what an iteration asks for, once everything that is kept is there.
template <class Body>
void measure(benchmark::State& state, Body body) {
  for (int i = 0; i < 16; i++) body();
  const uint64_t before = times_asked();
  for (auto _ : state) body();
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
BENCHMARK(plain_loop);

void add_built(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { benchmark::DoNotOptimize(a + b); });
}
BENCHMARK(add_built);

void add_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { (a + b).eval(); });
}
BENCHMARK(add_evaluated);

void add_number_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1);
  measure(state, [&] { (a + 2.5f).eval(); });
}
BENCHMARK(add_number_evaluated);

void twelve_built(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { benchmark::DoNotOptimize(twelve(a, b)); });
}
BENCHMARK(twelve_built);

void twelve_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  measure(state, [&] { twelve(a, b).eval(); });
}
BENCHMARK(twelve_evaluated);

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
BENCHMARK(twelve_one_by_one);

void twelve_captured(benchmark::State& state) {
  const Tensor a = numbers(1), b = numbers(2);
  const Graph graph = capture(twelve, a, b);
  const std::vector<Tensor> inputs = {a, b};
  measure(state, [&] { benchmark::DoNotOptimize(graph.launch(inputs)); });
}
BENCHMARK(twelve_captured);

void sum_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1);
  measure(state, [&] { ops::sum(a).eval(); });
}
BENCHMARK(sum_evaluated);

void softmax_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1).reshape({10, 100});
  measure(state, [&] {
    const Tensor e = ops::exp(a - ops::max(a, {1}, true));
    (e / ops::sum(e, {1}, true)).eval();
  });
}
BENCHMARK(softmax_evaluated);

void broadcast_evaluated(benchmark::State& state) {
  const Tensor a = numbers(1).reshape({10, 100}), b = numbers(2).slice(0, {0, 100});
  measure(state, [&] { (a * b).eval(); });
}
BENCHMARK(broadcast_evaluated);

}  // namespace

BENCHMARK_MAIN();
