// What tensors cost on one device, with inputs that are there already, by the clock on the wall:
// the time of an evaluation that is waited for, that of each of several in a row, the bandwidth
// that comes of it, and by the clock of the device, where it has one, what the kernels take. Every
// kind of work is first done small on the CPU as well, and the bits compared.
//
//   bench_device [--size N] [--rounds N] [--row N] [--only NAME,…]
//
// The device is the one that HOLOGRAM_BACKEND names. Products of matrices and convolutions
// come last. Names are those that are printed, "first": what compilers take, "small": what costs
// the host more than the device, "captured": products in a graph, "copies": of pinned memory where
// it has such, "products" and "convolutions": all of these, "layers": relu of products and of
// products with a bias, by libraries' epilogues and without, with a comparison of bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "backends/cuda/driver.hpp"
#include "backends/driver/stream.hpp"
#include "device_convolutions.hpp"
#include "device_products.hpp"
#include "hologram/hologram.hpp"
#include "runtime/executor_state.hpp"

namespace {

using namespace hologram;
using Clock = std::chrono::steady_clock;

struct Options {
  int64_t size = int64_t{1} << 27;
  int rounds = 15;
  int row = 80;      // evaluations that are waited for once: their ends count little then
  std::string only;  // names, each between commas; empty: everything

  bool wants(std::string_view name) const {
    return only.empty() || only.find(fmt::format(",{},", name)) != std::string::npos;
  }
};

struct Work {
  const char* name;
  int inputs;
  bool matrix;       // half as many elements, in rows of 16,384
  double transfers;  // elements read and written, as multiples of the size
  Tensor (*compute)(const std::vector<Tensor>& x);
};

Tensor mean_of_rows(const Tensor& x) { return ops::mean(x, -1, true); }

Tensor layer_norm(const Tensor& x) {
  const Tensor d = x - mean_of_rows(x);
  return d * ops::rsqrt(mean_of_rows(d * d) + 1e-5);
}

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
    {"layer norm", 1, true, 2, [](const std::vector<Tensor>& x) { return layer_norm(x[0]); }},
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

// The largest difference from the CPU's results, as a part of the largest of them.
double difference(const Work& work, const Executor& executor) {
  const Executor cpu(BackendType::Cpu);
  const int64_t size = 128 * 16384;
  const auto a = work.compute(inputs_of(work, size, executor)).to_vector<float>();
  const auto b = work.compute(inputs_of(work, size, cpu)).to_vector<float>();
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0) return 0;
  double most = 0, largest = 0;
  for (size_t i = 0; i < a.size(); i++) {
    most = std::max(most, std::fabs(double{a[i]} - double{b[i]}));
    largest = std::max(largest, std::fabs(double{b[i]}));
  }
  return most / largest;
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

// Seconds that the kernels of an evaluation take by the clock of the device; 0 if it has none.
double seconds_of_kernels(const Work& work, int64_t size, const BackendConfig& config) {
  BackendConfig timed = config;
  timed.enable_backend_profiling = true;
  const Executor executor = Executor::from_config(timed);
  if (!executor.state()->device->has_timestamps()) return 0;
  const auto seconds = [&] {
    double all = 0;
    for (const KernelProfile& kernel : executor.profile().kernels) all += kernel.seconds;
    return all;
  };
  const std::vector<Tensor> inputs = inputs_of(work, size, executor);
  work.compute(inputs).eval();
  constexpr int kTimes = 20;
  const double before = seconds();
  for (int i = 0; i < kTimes; i++) work.compute(inputs).eval();
  return (seconds() - before) / kTimes;
}

// What the first results of several kernels take in a process: compilers, most of all, unless
// something keeps what they made.
void first(const Executor& executor) {
  std::vector<float> values(64'000);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i % 1000) / 250 - 2;
  const Tensor x = Tensor::from_vector(values, {64, 1000}, executor).eval();
  executor.synchronize();
  const auto start = Clock::now();
  const std::vector<Tensor> results = {ops::softmax(x),
                                       layer_norm(x),
                                       ops::sort(ops::tanh(x), 1),
                                       ops::cumsum(ops::exp(x.transpose()), 0),
                                       ops::argmax(x, 0),
                                       ops::gelu(x)};
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  eval(results);
  const double started = seconds();
  executor.synchronize();
  fmt::print("first results: {:.0f} ms until all was started, {:.0f} ms in all\n", started * 1e3,
             seconds() * 1e3);
}

// There and back: of memory that the device reads by itself, where there is such. 256 MiB, or as
// much as the device takes at once.
void copies(const Executor& executor) {
  constexpr uint64_t kBytes = uint64_t{1} << 28;
  const uint64_t bytes_copied = std::min(kBytes, executor.device().max_allocation);
  const Shape shape{static_cast<int64_t>(bytes_copied / sizeof(float))};
  Array here = executor.pinned(DType::F32, shape), back = executor.pinned(DType::F32, shape);
  const std::span<float> values = here.mutable_as<float>();
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i % 1000);
  Tensor there;
  const double in = median_seconds(7, [&] {
    there = Tensor::from(here, executor).eval();
    executor.synchronize();
  });
  const double out = median_seconds(7, [&] { there.copy_to(back.mutable_as<float>()); });
  const double bytes = static_cast<double>(here.bytes()) / 1e9;
  fmt::print("{} copies of {} MiB: {:.1f} GB/s to the device, {:.1f} GB/s from it, {}\n",
             executor.device().backend == BackendType::Cuda ? "pinned" : "plain",
             here.bytes() >> 20, bytes / in, bytes / out,
             std::memcmp(here.data(), back.data(), here.bytes()) == 0 ? "the same" : "OTHERS");
}

// What a launch costs the host, through the stream and by the driver's own call.
void launches(const Executor& executor) {
  namespace driver = backends::driver;
  constexpr int kLaunches = 100;  // too few to fill the driver's queue
  const Program program = Program::parse(
      "program small(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = fma(a, x[i], y[i]) }\n}");
  hal::Device& device = *executor.state()->device;
  const auto x = device.allocate(512), y = device.allocate(512);
  const auto stream = device.stream();
  const auto ready = device.compile(program, {});
  const hal::Binding bindings[] = {{x.get(), 0, 512}, {y.get(), 0, 512}};
  const uint64_t scalars[] = {128, 0x40000000};
  hal::Launch launch;
  launch.executable = ready.get();
  launch.bindings = bindings;
  launch.scalars = std::span(scalars).first(program.scalars().size());
  const auto wait = [&] { stream->wait(stream->submit(), {}); };
  const auto each = [&](auto&& once, bool waited = false) {
    double best = 1;
    for (int round = 0; round < 20; round++) {
      const auto start = Clock::now();
      for (int i = 0; i < kLaunches; i++) once();
      if (waited) wait();
      best =
          std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / kLaunches);
      if (!waited) wait();
    }
    return best * 1e6;
  };
  const double through = each([&] { stream->launch(launch); });
  fmt::print("{} launches, each of what the last one left, waited for: {:.2f} us each\n", kLaunches,
             each([&] { stream->launch(launch); }, true));
  if (executor.device().backend != BackendType::Cuda) {
    fmt::print("a launch: {:.2f} us of the host\n", through);
    return;
  }
  const auto& code = static_cast<const driver::DeviceProgram&>(*ready).kernel(false);
  const driver::Driver& functions = backends::cuda::CudaDriver::instance();
  driver::Gpu& gpu = *functions.gpus()[0];
  const driver::Gpu::Current current(gpu);
  std::array<uint64_t, 16> values{};  // all lengths 0: it does nothing
  std::array<void*, 16> parameters{};
  for (size_t i = 0; i < values.size(); i++) parameters[i] = &values[i];
  const auto resources = gpu.make_resources();
  const double by_hand = each([&] {
    functions->launch(code.function, 1, 1, 1, code.threads, 1, 1, 0, resources->stream,
                      parameters.data(), nullptr);
  });
  fmt::print("a launch: {:.2f} us of the host, of which the driver's call {:.2f} us\n", through,
             by_hand);
}

// Products that depend on each other, with kernels between, at once and one after the other.
bool captured_products(const Executor& executor) {
  ops::seed(1, executor);
  const Tensor x = ops::randn({512, 512}, DType::F32, executor).eval(),
               w = (ops::randn({512, 512}, DType::F32, executor) * 0.05).eval(),
               rows = ops::arange(0, 512, 1, DType::I64, executor).eval();
  const auto chain = [&](const Tensor& start) {
    Tensor t = start;
    for (int i = 0; i < 20; i++) t = ops::relu(ops::matmul(t, w));
    return t;
  };
  const auto with_gather = [&](const Tensor& t) { return chain(ops::take(t, rows, 0)); };
  bool good = true;
  const auto measure = [&](const char* name, const auto& work) {
    const Graph graph = capture(work, x);
    const auto time = [&](const auto& once) {
      return median_seconds(201, [&] {
        once();
        executor.synchronize();
      });
    };
    const double at_once = time([&] { graph.launch(x); }), each = time([&] { work(x).eval(); });
    const Tensor other = (x + 1).eval();
    const Array a = graph.launch(other)[0].array(), b = work(other).array();
    const bool same = std::memcmp(a.data(), b.data(), a.bytes()) == 0;
    good = good && same;
    fmt::print("{}, waited for: {:.1f} us as {}, {:.1f} us evaluated; {}\n", name, at_once * 1e6,
               graph.note(), each * 1e6, same ? "the same bits" : "OTHER BITS");
  };
  measure("20 times relu(x w), 512 x 512", chain);
  measure("the same of rows that are taken", with_gather);
  return good;
}

void small(const Executor& executor) {
  const std::vector<Tensor> inputs = inputs_of(kWorks[0], 1000, executor);
  const auto add = [&] { kWorks[0].compute(inputs).eval(); };
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
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--only") options.only = fmt::format(",{},", value);
    else if (name == "--size" && std::atoll(value) > 0) options.size = std::atoll(value);
    else if (name == "--rounds" && std::atoi(value) > 0) options.rounds = std::atoi(value);
    else if (name == "--row" && std::atoi(value) > 0) options.row = std::atoi(value);
    else {
      fmt::print(stderr, "bench_device [--size N] [--rounds N] [--row N] [--only NAME,…]\n");
      return 2;
    }
  }
  try {
    const Executor executor;
    const bool exact = executor.device().numerics == Numerics::Exact;
    fmt::print("{}, {}\n{:12}{:>14}{:>14}{:>14}{:>14}  {}\n", executor.device().name,
               executor.device().driver, "work", "waited for", "in a row", "bandwidth", "kernels",
               "bits of the CPU");
    bool good = true;
    if (options.wants("first")) first(executor);
    for (const Work& work : kWorks) {
      if (!options.wants(work.name)) continue;
      const double off = difference(work, executor);
      good = good && (off == 0 || (!exact && off < 1e-5));
      const std::vector<Tensor> inputs = inputs_of(work, options.size, executor);
      const double seconds = median_seconds(options.rounds, [&] {
        work.compute(inputs).eval();
        executor.synchronize();
      });
      const double row = median_seconds(options.rounds / 3 + 1,
                                        [&] {
                                          for (int i = 0; i < options.row; i++)
                                            work.compute(inputs).eval();
                                          executor.synchronize();
                                        }) /
                         options.row;
      fmt::print("{:12}{:>11.1f} us{:>11.1f} us{:>9.0f} GB/s{:>11.1f} us  {}\n", work.name,
                 seconds * 1e6, row * 1e6,
                 work.transfers * 4 * static_cast<double>(inputs[0].size()) / row / 1e9,
                 seconds_of_kernels(work, options.size, executor.config()) * 1e6,
                 off == 0 ? "the same" : fmt::format("off by {:.1e}", off));
      executor.trim();
    }
    if (options.wants("small")) small(executor);
    if (options.wants("captured")) good = captured_products(executor) && good;
    if (options.wants("copies")) copies(executor);
    good = bench::products(executor.config(),
                           [&](const char* name) {
                             const bool layer = std::string_view(name).starts_with("layer ");
                             return options.wants(layer ? "layers" : "products") ||
                                    options.wants(name);
                           }) &&
           good;
    if (options.wants("convolutions")) good = bench::convolutions(executor.config()) && good;
    return good ? 0 : 1;
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n{}\n", e.what(), e.remedy());
    return 1;
  }
}
