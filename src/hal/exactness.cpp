#include "hal/exactness.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

namespace hologram::hal {
namespace {

// Each line rounds in its own way: sums and products as one, quotients and roots, small numbers.
constexpr const char* kText = R"(
program arithmetic_{0}(in a: {0}[n], in b: {0}[n], in c: {0}[n], out sum: {0}[n], out apart: {0}[n],
                       out fused: {0}[n], out quotient: {0}[n], out root: {0}[n])
    workgroup(64) lanes(n) {{
  i = global_id.x
  if i < n {{
    sum[i] = a[i] + c[i]
    apart[i] = a[i] * b[i] + c[i]
    fused[i] = fma(a[i], b[i], c[i])
    quotient[i] = a[i] / b[i]
    root[i] = sqrt(a[i])
  }}
}}
)";
constexpr size_t kCount = 4096, kInputs = 3, kOutputs = 5;

template <class T>
using Columns = std::vector<std::vector<T>>;

// Numbers of every size, and such as are close to each other or to nothing.
template <class T, class Bits>
Columns<T> inputs() {
  constexpr int kWidth = sizeof(T) * 8, kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr Bits kBias = std::numeric_limits<T>::max_exponent - 1;
  Columns<T> columns(kInputs, std::vector<T>(kCount));
  uint64_t state = 1;
  for (auto& column : columns)
    for (size_t i = 0; i < kCount; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      auto bits = static_cast<Bits>((state ^ state >> 29) >> (64 - kWidth));
      const Bits mantissa = bits & ((Bits{1} << kMantissa) - 1), sign = bits >> (kWidth - 1);
      if (i % 4 == 0) bits = sign << (kWidth - 1) | mantissa;  // a denormal
      if (i % 4 >= 2) bits = (kBias + bits % 4) << kMantissa | mantissa;
      column[i] = std::bit_cast<T>(bits);
    }
  return columns;
}

template <class T>
Columns<T> wanted(const Columns<T>& in) {
  Columns<T> columns(kOutputs, std::vector<T>(kCount));
  for (size_t i = 0; i < kCount; i++) {
    const T a = in[0][i], b = in[1][i], c = in[2][i];
    const T product = a * b;
    columns[0][i] = a + c;
    columns[1][i] = product + c;
    columns[2][i] = std::fma(a, b, c);
    columns[3][i] = a / b;
    columns[4][i] = std::sqrt(a);
  }
  return columns;
}

template <class T, class Bits>
bool is_exact(Device& device, const char* type) {
  const Program program = Program::parse(fmt::format(kText, type), "self test");
  const auto executable = device.compile(program, {});
  const auto stream = device.stream();
  constexpr uint64_t kBytes = kCount * sizeof(T);
  Columns<T> in = inputs<T, Bits>();
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Binding> bindings;
  const auto host = [](std::vector<T>& column) {
    return HostBuffer(reinterpret_cast<std::byte*>(column.data()), kBytes);
  };
  for (size_t i = 0; i < kInputs + kOutputs; i++) {
    buffers.push_back(device.allocate(kBytes));
    bindings.push_back({buffers.back().get(), 0, kBytes});
    if (i >= kInputs) continue;
    HostBuffer from = host(in[i]);
    stream->copy(bindings.back(), {&from, 0, kBytes});
  }
  const uint64_t n = kCount;
  stream->launch({.executable = executable.get(),
                  .grid = {kCount / 64, 1, 1},
                  .bindings = bindings,
                  .scalars = {&n, 1},
                  .deadline = {},
                  .budget = 0,
                  .progress = nullptr});
  const Columns<T> right = wanted(in);
  bool exact = true;
  for (size_t k = 0; k < kOutputs; k++) {
    std::vector<T> found(kCount);
    HostBuffer to = host(found);
    stream->copy({&to, 0, kBytes}, bindings[kInputs + k]);
    stream->wait(stream->submit(), {});
    for (size_t i = 0; i < kCount; i++)
      exact = exact && (std::bit_cast<Bits>(found[i]) == std::bit_cast<Bits>(right[k][i]) ||
                        (std::isnan(found[i]) && std::isnan(right[k][i])));
  }
  return exact;
}

}  // namespace

bool computes_exactly(Device& device) {
  return is_exact<float, uint32_t>(device, "f32") &&
         (!device.info().compute.has(DType::F64) || is_exact<double, uint64_t>(device, "f64"));
}

}  // namespace hologram::hal
