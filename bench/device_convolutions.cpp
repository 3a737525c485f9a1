#include "device_convolutions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

namespace hologram::bench {
namespace {

using Clock = std::chrono::steady_clock;
using ops::ImageLayout;

struct Shape2d {
  const char* name;
  int64_t batch, channels, size, outputs, kernel, stride, padding, groups;
};
constexpr Shape2d kShapes[] = {
    {"3x3, 256 of 56x56", 32, 256, 56, 256, 3, 1, 1, 1},
    {"1x1, 256 of 56x56", 32, 256, 56, 256, 1, 1, 0, 1},
    {"3x3 depthwise, 256 of 56x56", 32, 256, 56, 256, 3, 1, 1, 256},
    {"7x7 by 2, 3 of 224x224 to 64", 32, 3, 224, 64, 7, 2, 3, 1},
};
struct Type {
  const char* name;
  DType dtype;
  bool tf32;
  double bound;
};
constexpr Type kTypes[] = {{"f32", DType::F32, false, 1e-6},
                           {"tf32", DType::F32, true, 0x1p-10},
                           {"f16", DType::F16, false, 0x1p-11},
                           {"bf16", DType::BF16, false, 0x1p-8}};

// Seconds of one `work`, of as many as fill some milliseconds, queued before the device is waited
// for.
double each(const Executor& executor, const std::function<void()>& work) {
  const auto time = [&](int queued) {
    const auto start = Clock::now();
    for (int i = 0; i < queued; i++) work();
    executor.synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count() / queued;
  };
  time(1);
  const int queued = static_cast<int>(std::clamp(0.02 / time(1), 1.0, 100.0));
  std::array<double, 7> seconds{};
  for (double& round : seconds) round = time(queued);
  std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
  return seconds[3];
}

struct Case {
  Shape2d shape;
  bool planes;
  Tensor x, w;
  ops::Conv2d options;

  Case(const Shape2d& s, bool planes, DType dtype, const Executor& executor)
      : shape(s),
        planes(planes),
        x(ops::randn(planes ? Shape{s.batch, s.channels, s.size, s.size}
                            : Shape{s.batch, s.size, s.size, s.channels},
                     DType::F32, executor)
              .to(dtype)),
        w(ops::randn(planes ? Shape{s.outputs, s.channels / s.groups, s.kernel, s.kernel}
                            : Shape{s.kernel, s.kernel, s.channels / s.groups, s.outputs},
                     DType::F32, executor)
              .to(dtype)) {
    options.stride = {s.stride, s.stride};
    options.padding = {s.padding, s.padding, s.padding, s.padding};
    options.groups = s.groups;
    options.layout = planes ? ImageLayout::Nchw : ImageLayout::Nhwc;
    eval({x, w});
  }
  Tensor result() const { return ops::conv2d(x, w, options); }
  int64_t side() const {
    return (shape.size + 2 * shape.padding - shape.kernel) / shape.stride + 1;
  }
  double flops() const {
    const int64_t terms = shape.kernel * shape.kernel * (shape.channels / shape.groups);
    return 2.0 * static_cast<double>(shape.batch * side() * side() * shape.outputs) *
           static_cast<double>(terms);
  }
  double bytes() const {
    return static_cast<double>(
               (x.size() + w.size() + shape.batch * side() * side() * shape.outputs)) *
           static_cast<double>(size_of(x.dtype()));
  }
  // Of some elements, as a part of the sum of magnitudes.
  double error() const {
    const Tensor d = result();
    const Tensor by_pixel = planes ? x.permute({0, 2, 3, 1}) : x,
                 weights = planes ? w.permute({2, 3, 1, 0}) : w,
                 results = planes ? d.permute({0, 2, 3, 1}) : d;
    double most = 0;
    for (int64_t sample = 0; sample < 8; sample++) {
      const int64_t n = shape.batch * sample / 8, o = shape.outputs * ((sample * 5) % 8) / 8;
      const int64_t row = side() * sample / 8, column = side() * ((sample * 3) % 8) / 8;
      const int64_t per_group = shape.channels / shape.groups;
      const int64_t first = o / (shape.outputs / shape.groups) * per_group;
      const Tensor channels = by_pixel.select(0, n).slice(2, {first, first + per_group});
      const auto image = channels.to(DType::F64).to_vector<double>(),
                 weight = weights.select(3, o).to(DType::F64).to_vector<double>();
      double sum = 0, size = 0;
      for (int64_t i = 0; i < shape.kernel; i++)
        for (int64_t j = 0; j < shape.kernel; j++) {
          const int64_t y = row * shape.stride + i - shape.padding,
                        z = column * shape.stride + j - shape.padding;
          if (y < 0 || y >= shape.size || z < 0 || z >= shape.size) continue;
          for (int64_t c = 0; c < per_group; c++) {
            const double term = image[static_cast<size_t>((y * shape.size + z) * per_group + c)] *
                                weight[static_cast<size_t>((i * shape.kernel + j) * per_group + c)];
            sum += term;
            size += std::fabs(term);
          }
        }
      const double got = results.select(0, n)
                             .select(0, row)
                             .select(0, column)
                             .select(0, o)
                             .to(DType::F64)
                             .item<double>();
      most = std::max(most, std::fabs(got - sum) / size);
    }
    return most;
  }
};

bool measure(const Shape2d& shape, bool planes, const Type& type, const BackendConfig& config) {
  bool good = true;
  for (const bool library : {true, false}) {
    BackendConfig how = config;
    how.allow_tf32 = type.tf32;
    how.enable_cudnn = library;
    // By our own program, f32 and f16 are enough to compare.
    if (!library && (type.tf32 || type.dtype == DType::BF16)) continue;
    const Executor executor = Executor::from_config(how);
    ops::seed(1, executor);
    const Case c(shape, planes, type.dtype, executor);
    const Counters counted = executor.counters();
    const double seconds = each(executor, [&] { c.result().eval(); });
    const bool by_library = executor.counters().library_calls > counted.library_calls;
    const double error = c.error();
    good = good && error <= type.bound;
    fmt::print("{:30}{:5}{:5}{:>11.1f} us{:>9.1f} TFLOP/s{:>8.0f} GB/s  {}, error {:.1e}{}\n",
               shape.name, planes ? "NCHW" : "NHWC", type.name, seconds * 1e6,
               c.flops() / seconds / 1e12, c.bytes() / seconds / 1e9,
               by_library ? "library" : "own program", error, error <= type.bound ? "" : ": WRONG");
    if (!by_library) break;  // the library has no part in it
  }
  return good;
}

}  // namespace

bool convolutions(const BackendConfig& config) {
  fmt::print("\n{:40}{:>14}\n", "convolution, images of 32", "in a row");
  bool good = true;
  for (const Shape2d& shape : kShapes)
    for (const bool planes : {false, true})
      for (const Type& type : kTypes) good = measure(shape, planes, type, config) && good;
  return good;
}

}  // namespace hologram::bench
