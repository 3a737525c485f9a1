#include "device_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "libraries/product.hpp"
#include "runtime/executor_state.hpp"

namespace hologram::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Row {
  const char* name;
  int64_t m, n, k;
  DType dtype;
  bool tf32 = false;
  bool by_library = false;  // asks the library itself, which matmul might not
  bool ended = false;       // relu of it, and of it and a bias, with fusion and without
};

constexpr Row kRows[] = {
    {"f32 1024", 1024, 1024, 1024, DType::F32},
    {"f32 4096", 4096, 4096, 4096, DType::F32},
    {"f32 8192", 8192, 8192, 8192, DType::F32},
    {"tf32 1024", 1024, 1024, 1024, DType::F32, true},
    {"tf32 1024, library", 1024, 1024, 1024, DType::F32, true, true},
    {"tf32 4096", 4096, 4096, 4096, DType::F32, true},
    {"tf32 8192", 8192, 8192, 8192, DType::F32, true},
    {"bf16 1024", 1024, 1024, 1024, DType::BF16},
    {"bf16 4096", 4096, 4096, 4096, DType::BF16},
    {"bf16 8192", 8192, 8192, 8192, DType::BF16},
    {"f64 4096", 4096, 4096, 4096, DType::F64},
    {"bf16 gemv", 14336, 1, 4096, DType::BF16},
    {"bf16 gemv, library", 14336, 1, 4096, DType::BF16, false, true},
    {"f32 gemv", 14336, 1, 4096, DType::F32},
    {"f32 gemv, library", 14336, 1, 4096, DType::F32, false, true},
    {"layer f32 1024", 1024, 1024, 1024, DType::F32, false, false, true},
    {"layer f32 4096", 4096, 4096, 4096, DType::F32, false, false, true},
    {"layer tf32 1024", 1024, 1024, 1024, DType::F32, true, false, true},
    {"layer tf32 4096", 4096, 4096, 4096, DType::F32, true, false, true},
    {"layer bf16 1024", 1024, 1024, 1024, DType::BF16, false, false, true},
    {"layer bf16 4096", 4096, 4096, 4096, DType::BF16, false, false, true},
    {"layer f16 4096", 4096, 4096, 4096, DType::F16, false, false, true},
    {"layer f64 2048", 2048, 2048, 2048, DType::F64, false, false, true},
};

double median(std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

// Seconds of one `work`, of so many that are queued before the device is waited for; and how many
// of them the host was busy.
struct Seconds {
  double all, host;
};
Seconds each(int queued, int rounds, const std::function<void()>& work,
             const std::function<void()>& wait) {
  work();
  wait();
  std::vector<double> all, host;
  for (int round = 0; round < rounds; round++) {
    const auto start = Clock::now();
    const auto since = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count() / queued;
    };
    for (int i = 0; i < queued; i++) work();
    host.push_back(since());
    wait();
    all.push_back(since());
  }
  return {median(std::move(all)), median(std::move(host))};
}

// Whatever the device can do: f32 holds all that is narrower.
std::vector<double> values(const Tensor& t) {
  if (t.dtype() == DType::F64) return t.to_vector<double>();
  const std::vector<float> narrow = t.to(DType::F32).to_vector<float>();
  return {narrow.begin(), narrow.end()};
}

// The largest error of some elements, as a part of the sum of magnitudes.
double error_of(const Tensor& a, const Tensor& b, const Tensor& d) {
  double most = 0;
  for (int sample = 0; sample < 8; sample++) {
    const int64_t i = d.size(0) * sample / 8, j = d.size(1) * ((sample * 5) % 8) / 8;
    const auto row = values(a.select(0, i)), column = values(b.select(1, j));
    double sum = 0, size = 0;
    for (size_t p = 0; p < row.size(); p++) {
      sum += row[p] * column[p];
      size += std::fabs(row[p] * column[p]);
    }
    most = std::max(most, std::fabs(values(d.select(0, i).select(0, j))[0] - sum) / size);
  }
  return most;
}

// A product by the library of the device, whatever matmul would do.
class ByLibrary {
 public:
  ByLibrary(const Row& row, hal::Device& device) : stream_(device.stream()) {
    hal::GemmDesc desc;
    desc.a = desc.b = desc.d = row.dtype;
    desc.accumulate = libraries::product_accumulator(row.dtype);
    desc.m = row.m;
    desc.n = row.n;
    desc.k = row.k;
    desc.lda = row.k;
    desc.ldb = desc.ldd = row.n;
    desc.alignment_a = desc.alignment_b = desc.alignment_d = 256;
    auto answer = device.library()->plan(desc);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) {
      reason_ = refusal->reason;
      return;
    }
    plan_ = std::get<std::shared_ptr<hal::LibraryPlan>>(answer);
    const auto bytes = [&](int64_t rows, int64_t columns) {
      return static_cast<uint64_t>(rows * columns) * size_of(row.dtype);
    };
    for (const uint64_t size : {bytes(row.m, row.k), bytes(row.k, row.n), bytes(row.m, row.n),
                                std::max<uint64_t>(plan_->workspace(), 1)}) {
      memory_.push_back(device.allocate(size));
      bindings_.push_back({memory_.back().get(), 0, size});
    }
    stream_->fill(bindings_[0], 0);
    stream_->fill(bindings_[1], 0);
  }

  const std::string& reason() const { return reason_; }
  void run() {
    stream_->call(*plan_, std::span(bindings_).first(3), {memory_[3].get(), 0, plan_->workspace()});
  }
  void wait() { stream_->wait(stream_->submit(), {}); }

 private:
  std::shared_ptr<hal::LibraryPlan> plan_;
  std::vector<std::unique_ptr<hal::Buffer>> memory_;
  std::vector<hal::Binding> bindings_;
  std::unique_ptr<hal::Stream> stream_;
  std::string reason_;
};

// relu(x w + b) and relu(x w), each as one step where the library has such an epilogue, as a
// product and a kernel, and as a product and a kernel for each operation: times, and whether bits
// are the same.
class Layer {
 public:
  Layer(const Row& row, const BackendConfig& config)
      : executor_(Executor::from_config(config)),
        x_(some({row.m, row.k}, row.dtype)),
        w_(some({row.k, row.n}, row.dtype)),
        b_(some({row.n}, row.dtype)) {
    eval({x_, w_, b_});
  }

  const Executor& executor() const { return executor_; }
  Tensor compute(bool bias) const {
    const Tensor product = ops::matmul(x_, w_);
    return ops::relu(bias ? product + b_ : product);
  }
  // The product is stored, as somebody holds it.
  Tensor by_kernel(bool bias) const {
    const Tensor product = ops::matmul(x_, w_);
    return ops::relu(bias ? product + b_ : product).eval();
  }

 private:
  Tensor some(Shape shape, DType dtype) const {
    ops::seed(1, executor_);
    return ops::randn(std::move(shape), DType::F32, executor_).to(dtype);
  }

  const Executor executor_;
  const Tensor x_, w_, b_;
};

bool compare_layers(const Row& row, const BackendConfig& config) {
  BackendConfig unfused = config;
  unfused.fusion = false;
  const Layer layer(row, config), plain(row, unfused);
  if (!layer.executor().device().storage.has(row.dtype)) return true;
  const double flops =
      2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  const int queued = static_cast<int>(std::clamp(4e12 / flops, 3.0, 100.0));
  bool good = true;
  for (const bool bias : {true, false}) {
    const auto time = [&](const Layer& on, const std::function<void()>& run) {
      return each(queued, 15, run, [&] { on.executor().synchronize(); }).all * 1e6;
    };
    const Counters before = layer.executor().counters();
    layer.compute(bias).eval();
    const bool one = layer.executor().counters().launches == before.launches;
    const Array result = layer.compute(bias).array(), kernel = layer.by_kernel(bias).array(),
                apart = plain.compute(bias).array();
    const bool same = std::memcmp(result.data(), kernel.data(), result.bytes()) == 0 &&
                      std::memcmp(result.data(), apart.data(), result.bytes()) == 0;
    good = good && same;
    fmt::print(
        "{:16} {:11}{:>9.1f} us {}, {:.1f} us with a kernel, {:.1f} us unfused; {}\n", row.name,
        bias ? "bias, relu" : "relu", time(layer, [&] { layer.compute(bias).eval(); }),
        one ? "in one step" : "with a kernel too", time(layer, [&] { layer.by_kernel(bias); }),
        time(plain, [&] { plain.compute(bias).eval(); }), same ? "the same bits" : "OTHER BITS");
    if (one) continue;
    const std::string plan = explain(layer.compute(bias));
    const size_t from = std::min(plan.find("   then "), plan.find("goes through memory: "));
    if (from < plan.size()) fmt::print("{}\n", plan.substr(from, plan.find('\n', from) - from));
  }
  return good;
}

bool measure(const Row& row, const BackendConfig& config) {
  BackendConfig how = config;
  how.allow_tf32 = row.tf32;
  if (row.ended) return compare_layers(row, how);
  const Executor executor = Executor::from_config(how);
  if (!executor.device().storage.has(row.dtype)) return true;
  const double flops =
      2.0 * static_cast<double>(row.m) * static_cast<double>(row.n) * static_cast<double>(row.k);
  const double bytes = static_cast<double>(row.m * row.k + row.k * row.n + row.m * row.n) *
                       static_cast<double>(size_of(row.dtype));
  // Enough to fill some milliseconds.
  const int queued = static_cast<int>(std::clamp(4e12 / flops, 3.0, 100.0));
  const auto tell = [&](const Seconds& in_a_row, const Seconds& alone, const std::string& right) {
    fmt::print("{:20}{:>11.1f} us{:>8.1f} us{:>11.1f} us{:>9.1f} TFLOP/s{:>8.0f} GB/s  {}\n",
               row.name, in_a_row.all * 1e6, in_a_row.host * 1e6, alone.all * 1e6,
               flops / in_a_row.all / 1e12, bytes / in_a_row.all / 1e9, right);
  };
  if (row.by_library) {
    hal::Device& device = *executor.state()->device;
    if (device.library() == nullptr) return true;
    ByLibrary product(row, device);
    if (!product.reason().empty()) {
      fmt::print("{:20} {}\n", row.name, product.reason());
      return true;
    }
    const auto run = [&] { product.run(); };
    const auto wait = [&] { product.wait(); };
    tell(each(queued, 7, run, wait), each(1, 15, run, wait), "of zeros");
    return true;
  }
  ops::seed(1, executor);
  const Tensor a = ops::randn({row.m, row.k}, DType::F32, executor).to(row.dtype),
               b = ops::randn({row.k, row.n}, DType::F32, executor).to(row.dtype);
  eval({a, b});
  const Counters before = executor.counters();
  const auto run = [&] { ops::matmul(a, b).eval(); };
  const auto wait = [&] { executor.synchronize(); };
  const Seconds in_a_row = each(queued, 7, run, wait), alone = each(1, 15, run, wait);
  const Counters after = executor.counters();
  const double error = error_of(a, b, ops::matmul(a, b));
  const double bound = row.dtype == DType::F64    ? 1e-14
                       : row.dtype == DType::BF16 ? 0x1p-8
                       : row.tf32                 ? 0x1p-10
                                                  : 1e-6;
  const char* by = after.library_calls > before.library_calls ? "library" : "own program";
  tell(in_a_row, alone,
       fmt::format("{}, error {:.1e}{}", by, error, error <= bound ? "" : ": WRONG"));
  return error <= bound;
}

}  // namespace

bool products(const BackendConfig& config, const std::function<bool(const char*)>& wanted) {
  fmt::print("\n{:20}{:>14}{:>11}{:>14}\n", "product", "in a row", "the host", "waited for");
  bool good = true;
  for (const Row& row : kRows)
    if (wanted(row.name)) good = measure(row, config) && good;
  return good;
}

}  // namespace hologram::bench
