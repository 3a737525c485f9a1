#include "backends/cuda/epilogues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "backends/driver/stream.hpp"
#include "core/half.hpp"

namespace hologram::backends::cuda {
namespace {

using driver::Gpu;
using driver::Memory;
using hal::Epilogue;
using libraries::blaslt::GemmPlan;
using Plan = std::shared_ptr<const GemmPlan>;

// Algorithms for large tiles may not be for small products.
constexpr int64_t kSides[] = {64, 256, 1024};

// What the trial says of a type.
struct Range {
  DType type;
  double tiny, denormal, largest;  // the square of a tiny one is below all that is stored
};
constexpr Range kRanges[] = {
    {DType::F64, 0x1p-600, 0x1p-1074, 0x1.fffffffffffffp1023},
    {DType::F32, 0x1p-80, 0x1p-149, 0x1.fffffep127},
    {DType::F16, 0x1p-14, 0x1p-24, 65504},
    {DType::BF16, 0x1p-80, 0x1p-133, 0x1.fep127},
};
const Range* range_of(DType type) {
  for (const Range& range : kRanges)
    if (range.type == type) return &range;
  return nullptr;
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

double load(DType type, const std::byte* from) {
  switch (type) {
    case DType::F64: return read<double>(from);
    case DType::F32: return double{read<float>(from)};
    case DType::F16: return double{core::f16_to_f32(read<uint16_t>(from))};
    default: return double{core::bf16_to_f32(read<uint16_t>(from))};
  }
}
void store(DType type, std::byte* to, double value) {
  switch (type) {
    case DType::F64: return write(to, value);
    case DType::F32: return write(to, static_cast<float>(value));
    case DType::F16: return write(to, core::f32_to_f16(static_cast<float>(value)));
    default: return write(to, core::f32_to_bf16(static_cast<float>(value)));
  }
}

class Numbers {
 public:
  double next() {  // in -1 ... 1, of 8 bits, so that every type has it
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state_ >> 56) - 128) / 128;
  }

 private:
  uint64_t state_ = 1;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

// Rows of a: elements 0 and 1, and all others. The matching columns of b are 1, tiny and 0, so that
// sums are the first element, what underflows to a zero with a sign, and sums of such zeros.
std::vector<std::array<double, 3>> rows_of(const Range& r) {
  return {{kNaN, 0, 0},
          {kInfinity, 0, 0},
          {-kInfinity, 0, 0},
          {1, 0, 0},
          {-1, 0, 0},
          {0, r.tiny, 0},
          {0, -r.tiny, -0.0},
          {-0.0, -r.tiny, -0.0},
          {-0.0, -0.0, -0.0},
          {r.denormal, 0, 0},
          {-r.denormal, 0, 0},
          {r.largest, 0, 0},
          {-r.largest, 0, 0},
          {-r.tiny, 0, 0},
          {0, 0, 0}};
}
std::vector<double> biases_of(const Range& r) {
  return {0,           -0.0,   kNaN,    kInfinity, -kInfinity, 1,         -1, r.denormal,
          -r.denormal, r.tiny, -r.tiny, r.largest, -r.largest, -0x1p-140, 0.5};
}

// Operands as they lie in memory.
struct Operands {
  std::vector<std::byte> a, b, bias;
};
Operands operands_of(const hal::GemmDesc& desc, const Range& in, const Range& out) {
  const int64_t side = desc.n;
  const size_t count = static_cast<size_t>(side) * static_cast<size_t>(side);
  Operands made{std::vector<std::byte>(count * size_of(desc.a)),
                std::vector<std::byte>(count * size_of(desc.b)),
                std::vector<std::byte>(static_cast<size_t>(side) * size_of(desc.d))};
  const auto put = [&](std::vector<std::byte>& to, DType type, bool transpose, int64_t row,
                       int64_t column, double value) {
    const int64_t at = transpose ? column * side + row : row * side + column;
    store(type, &to[static_cast<size_t>(at) * size_of(type)], value);
  };
  Numbers numbers;
  const auto rows = rows_of(in);
  const auto biases = biases_of(out);
  for (int64_t i = 0; i < side; i++)
    for (int64_t p = 0; p < side; p++) {
      const double any = numbers.next();
      const auto row = static_cast<size_t>(i);
      const double a =
          row < rows.size() ? rows[row][static_cast<size_t>(std::min<int64_t>(p, 2))] : any;
      put(made.a, desc.a, desc.transpose_a, i, p, a);
      // Half of the columns of b; in the others special rows meet any numbers.
      const double b = i == 0 ? 1 : i == 1 ? in.tiny : 0;
      put(made.b, desc.b, desc.transpose_b, i, p, p % 2 == 0 ? b : numbers.next());
    }
  for (int64_t j = 0; j < side; j++) {
    const auto which = static_cast<size_t>(j / 2);
    store(desc.d, &made.bias[static_cast<size_t>(j) * size_of(desc.d)],
          which < biases.size() ? biases[which] : numbers.next());
  }
  return made;
}

double formula(DType type, const Epilogue& epilogue, double product, double bias) {
  double value = product;
  if (epilogue.bias)
    value = type == DType::F64 ? product + bias
                               : double{static_cast<float>(product) + static_cast<float>(bias)};
  if (epilogue.relu && !std::isnan(value)) value = value > 0 ? value : 0;
  return value;
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// What is wrong with it; empty if nothing is.
std::string tried(Gpu& gpu, const GemmPlan& plain, const GemmPlan& ended,
                  const Epilogue& epilogue) {
  const hal::GemmDesc& desc = plain.desc();
  Operands operands = operands_of(desc, *range_of(desc.a), *range_of(desc.d));
  const size_t count = static_cast<size_t>(desc.n) * static_cast<size_t>(desc.n);
  std::array<std::vector<std::byte>, 2> results;
  constexpr uint64_t kBefore = 16;  // as a bias may begin
  Memory a(gpu, operands.a.size()), b(gpu, operands.b.size()), d(gpu, count * size_of(desc.d)),
      bias(gpu, kBefore + operands.bias.size()),
      workspace(gpu, std::max<uint64_t>({plain.workspace(), ended.workspace(), 1}));
  driver::Stream stream(gpu, {});
  const auto host = [](std::vector<std::byte>& memory) {
    return hal::HostBuffer(memory.data(), memory.size());
  };
  const auto upload = [&](hal::Binding to, std::vector<std::byte>& from) {
    hal::HostBuffer memory = host(from);
    stream.copy(to, {&memory, 0, from.size()});
  };
  const hal::Binding all[] = {{&a, 0, a.size()},
                              {&b, 0, b.size()},
                              {&d, 0, d.size()},
                              {&bias, kBefore, operands.bias.size()}};
  upload(all[0], operands.a);
  upload(all[1], operands.b);
  upload(all[3], operands.bias);
  for (const bool with : {false, true}) {
    const GemmPlan& plan = with ? ended : plain;
    stream.fill(all[2], 0xa5a5a5a5);
    stream.call(plan, std::span(all).first(with && epilogue.bias ? 4 : 3),
                {&workspace, 0, plan.workspace()});
    std::vector<std::byte>& result = results[with ? 1 : 0];
    result.resize(d.size());
    hal::HostBuffer memory = host(result);
    stream.copy({&memory, 0, d.size()}, all[2]);
  }
  stream.wait(stream.submit(), {});
  const size_t size = size_of(desc.d);
  bool nan = false, infinite = false, below = false;
  for (size_t i = 0; i < count; i++) {
    const double product = load(desc.d, &results[0][i * size]),
                 found = load(desc.d, &results[1][i * size]),
                 added = load(desc.d, &operands.bias[i % static_cast<size_t>(desc.n) * size]),
                 right = formula(desc.d, epilogue, product, added);
    nan = nan || std::isnan(product);
    infinite = infinite || std::isinf(product);
    below = below || product < 0;
    if (!same(found, right))
      return fmt::format("cuBLASLt makes {} of {}{}, and not {}", found, product,
                         epilogue.bias ? fmt::format(" and {}", added) : "", right);
  }
  return nan && infinite && below ? "" : "cuBLASLt's trial shows nothing";
}

}  // namespace

std::string Epilogues::refuses(Gpu& gpu, const GemmPlan& plan, const Epilogue& epilogue) {
  const std::string key = fmt::format("{} {} {}", epilogue.bias, epilogue.relu, plan.manner());
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::string reason = "the algorithm cannot be tried";
  for (const int64_t side : kSides) {
    const auto plain = plan.square(side);
    if (std::holds_alternative<hal::Refusal>(plain)) continue;
    const Plan& small = std::get<Plan>(plain);
    const auto ended = small->with(epilogue);
    if (std::holds_alternative<hal::Refusal>(ended)) continue;
    try {
      reason = tried(gpu, *small, *std::get<Plan>(ended), epilogue);
    } catch (const Error& error) {
      // What is lost is told of by what comes next; anything else may be otherwise another time.
      return fmt::format("cuBLASLt's epilogue cannot be tried: {}", error.what());
    }
    break;
  }
  return known_.emplace(key, std::move(reason)).first->second;
}

}  // namespace hologram::backends::cuda
