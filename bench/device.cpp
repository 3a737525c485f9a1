// What tensors cost on one device, with inputs that are there already: the time of an evaluation,
// by the clock on the wall, waiting included, and the bandwidth that comes of it. Every kind of
// work is first done small on the CPU as well, and the bits compared.
//
//   bench_device [--size N] [--rounds N] [--only products]
//
// The device is the one that HOLOGRAM_BACKEND names. Products of matrices come last.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "backends/cuda/stream.hpp"
#include "device_products.hpp"
#include "hologram/hologram.hpp"
#include "runtime/executor_state.hpp"

namespace {

using namespace hologram;
using Clock = std::chrono::steady_clock;

struct Options {
  int64_t size = int64_t{1} << 27;
  int rounds = 15;
  bool only_products = false;
};

struct Work {
  const char* name;
  int inputs;
  bool matrix;       // half as many elements, in rows of 16,384
  double transfers;  // elements read and written, as multiples of the size
  Tensor (*compute)(const std::vector<Tensor>& x);
};

Tensor mean_of_rows(const Tensor& x) { return ops::mean(x, -1, true); }

constexpr Work kWorks[] = {
    {"add", 2, false, 3, [](const std::vector<Tensor>& x) { return x[0] + x[1]; }},
    {"relu", 1, false, 2, [](const std::vector<Tensor>& x) { return ops::relu(x[0]); }},
    {"exp", 1, false, 2, [](const std::vector<Tensor>& x) { return ops::exp(x[0]); }},
    {"chain", 3, false, 4,
     [](const std::vector<Tensor>& x) { return ops::sigmoid(x[0] * x[1] + x[2]) * x[0] - x[1]; }},
    {"sum", 1, false, 1, [](const std::vector<Tensor>& x) { return ops::sum(x[0]); }},
    {"row sums", 1, true, 1, [](const std::vector<Tensor>& x) { return ops::sum(x[0], 1); }},
    {"column sums", 1, true, 1, [](const std::vector<Tensor>& x) { return ops::sum(x[0], 0); }},
    {"softmax", 1, true, 2, [](const std::vector<Tensor>& x) { return ops::softmax(x[0]); }},
    {"layer norm", 1, true, 2,
     [](const std::vector<Tensor>& x) {
       const Tensor d = x[0] - mean_of_rows(x[0]);
       return d * ops::rsqrt(mean_of_rows(d * d) + 1e-5);
     }},
    {"rms norm", 1, true, 2,
     [](const std::vector<Tensor>& x) {
       return x[0] * ops::rsqrt(mean_of_rows(x[0] * x[0]) + 1e-5);
     }},
    {"transpose", 1, true, 2,
     [](const std::vector<Tensor>& x) { return ops::abs(x[0].transpose()); }},
};

std::vector<Tensor> inputs_of(const Work& work, int64_t size, const Executor& executor) {
  ops::seed(1, executor);
  std::vector<Tensor> inputs;
  inputs.reserve(static_cast<size_t>(work.inputs));
  const Shape shape = work.matrix ? Shape{size / 2 / 16384, 16384} : Shape{size};
  for (int k = 0; k < work.inputs; k++) inputs.push_back(ops::randn(shape, DType::F32, executor));
  eval(inputs);
  return inputs;
}

bool same_bits(const Work& work, const Executor& executor) {
  const Executor cpu(BackendType::Cpu);
  const int64_t size = 128 * 16384;
  const Array a = work.compute(inputs_of(work, size, executor)).array();
  const Array b = work.compute(inputs_of(work, size, cpu)).array();
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

double median_seconds(int rounds, const std::function<void()>& run) {
  for (int i = 0; i < 3; i++) run();
  std::vector<double> seconds;
  for (int i = 0; i < rounds; i++) {
    const auto start = Clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<size_t>(rounds / 2)];
}

// What a launch costs the host, through the stream and by the driver's own call.
void launches(const Executor& executor) {
  namespace cuda = backends::cuda;
  constexpr int kLaunches = 100;  // too few to fill the driver's queue
  const Program program = Program::parse(
      "program small(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = fma(a, x[i], y[i]) }\n}");
  hal::Device& device = *executor.state()->device;
  const auto memory = device.allocate(1024);
  const auto stream = device.stream();
  const auto ready = device.compile(program, {});
  const hal::Binding bindings[] = {{memory.get(), 0, 512}, {memory.get(), 512, 512}};
  const uint64_t scalars[] = {128, 0x40000000};
  hal::Launch launch;
  launch.executable = ready.get();
  launch.bindings = bindings;
  launch.scalars = std::span(scalars).first(program.scalars().size());
  const auto wait = [&] { stream->wait(stream->submit(), {}); };
  const auto each = [&](auto&& once) {
    double best = 1;
    for (int round = 0; round < 20; round++) {
      const auto start = Clock::now();
      for (int i = 0; i < kLaunches; i++) once();
      best =
          std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / kLaunches);
      wait();
    }
    return best * 1e6;
  };
  const double through = each([&] { stream->launch(launch); });
  if (executor.device().backend != BackendType::Cuda) {
    fmt::print("a launch: {:.2f} us of the host\n", through);
    return;
  }
  const auto& code = static_cast<const cuda::CudaProgram&>(*ready).kernel(false);
  const cuda::Gpu::Current current(*cuda::Gpu::all()[0]);
  std::array<uint64_t, 16> values{};  // all lengths 0: it does nothing
  std::array<void*, 16> parameters{};
  for (size_t i = 0; i < values.size(); i++) parameters[i] = &values[i];
  const cuda::Driver& driver = cuda::Driver::instance();
  const auto lane = cuda::Gpu::all()[0]->lane();
  const double by_hand = each([&] {
    driver->launch(code.function, 1, 1, 1, code.threads, 1, 1, 0, lane->stream, parameters.data(),
                   nullptr);
  });
  fmt::print("a launch: {:.2f} us of the host, of which the driver's call {:.2f} us\n", through,
             by_hand);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--size") == 0) options.size = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0)
      options.only_products = std::strcmp(argv[i + 1], "products") == 0;
  }
  try {
    const Executor executor;
    if (options.only_products) return bench::products(executor.config()) ? 0 : 1;
    fmt::print("{}, {}\n{:12}{:>14}{:>14}  {}\n", executor.device().name, executor.device().driver,
               "work", "time", "bandwidth", "bits of the CPU");
    bool good = true;
    for (const Work& work : kWorks) {
      const bool same = same_bits(work, executor);
      good = good && same;
      const std::vector<Tensor> inputs = inputs_of(work, options.size, executor);
      const double seconds = median_seconds(options.rounds, [&] {
        work.compute(inputs).eval();
        executor.synchronize();
      });
      fmt::print("{:12}{:>11.1f} us{:>9.0f} GB/s  {}\n", work.name, seconds * 1e6,
                 work.transfers * 4 * static_cast<double>(inputs[0].size()) / seconds / 1e9,
                 same ? "the same" : "OTHERS");
      executor.trim();
    }
    const std::vector<Tensor> small = inputs_of(kWorks[0], 1000, executor);
    const auto add = [&] { kWorks[0].compute(small).eval(); };
    const double waited = median_seconds(2001, [&] {
      add();
      executor.synchronize();
    });
    const double queued = median_seconds(21, [&] {
      for (int i = 0; i < 100; i++) add();
    });
    executor.synchronize();
    fmt::print("add of 1000: {:.2f} us, and {:.2f} us of the host without waiting\n", waited * 1e6,
               queued * 1e4);
    launches(executor);
    good = bench::products(executor.config()) && good;
    return good ? 0 : 1;
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n{}\n", e.what(), e.remedy());
    return 1;
  }
}
