// Products of matrices for tests: random layouts in guarded memory, and plain loops as the oracle.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/half.hpp"
#include "libraries/product.hpp"

namespace hologram::products {

using libraries::Product;
using libraries::ProductMatrix;

inline std::shared_ptr<hal::Device> cpu(int threads) {
  BackendConfig config;
  config.num_threads = threads;
  return std::get<std::shared_ptr<hal::Device>>(backends::cpu::backend().open(0, config));
}

// An element as a number; integers of 64 bits as far as a long double holds them, which is whole.
inline long double element(DType type, const std::byte* p) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (type) {
    case DType::Bool: return read(uint8_t{}) != 0;
    case DType::I8: return read(int8_t{});
    case DType::U8: return read(uint8_t{});
    case DType::I16: return read(int16_t{});
    case DType::U16: return read(uint16_t{});
    case DType::I32: return read(int32_t{});
    case DType::U32: return read(uint32_t{});
    case DType::I64: return static_cast<long double>(read(int64_t{}));
    case DType::U64: return static_cast<long double>(read(uint64_t{}));
    case DType::F16: return core::f16_to_f32(read(uint16_t{}));
    case DType::BF16: return core::bf16_to_f32(read(uint16_t{}));
    case DType::F32: return read(float{});
    default: return read(double{});
  }
}

// The low bits of a whole number.
inline uint64_t whole(DType type, const std::byte* p) {
  const long double value = element(type, p);
  return value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                   : static_cast<uint64_t>(value);
}

inline void put(DType type, std::byte* p, double value) {
  const auto write = [&]<class T>(T v) { std::memcpy(p, &v, sizeof v); };
  switch (type) {
    case DType::F16: return write(core::f32_to_f16(static_cast<float>(value)));
    case DType::BF16: return write(core::f32_to_bf16(static_cast<float>(value)));
    case DType::F32: return write(static_cast<float>(value));
    case DType::F64: return write(value);
    default: {
      const auto bits = static_cast<int64_t>(value);
      std::memcpy(p, &bits, size_of(type));
    }
  }
}

// Distance in units of the last place of `type` near 1.
inline double epsilon(DType type) {
  if (type == DType::F16) return 0x1p-10;
  if (type == DType::BF16) return 0x1p-7;
  return type == DType::F32 ? 0x1p-23 : 0x1p-52;
}

// A dense product; `types` has the members a, b and d.
template <class Types>
hal::GemmDesc describe(const Types& types, int64_t m, int64_t n, int64_t k) {
  hal::GemmDesc g;
  g.a = types.a;
  g.b = types.b;
  g.d = types.d;
  g.accumulate = libraries::product_accumulator(types.d);
  g.m = m;
  g.n = n;
  g.k = k;
  g.lda = std::max<int64_t>(1, k);
  g.ldb = g.ldd = std::max<int64_t>(1, n);
  return g;
}

// Sides, transposes, gaps between rows and matrices, batches, and operands that a batch shares.
template <class Types>
hal::GemmDesc random_desc(const Types& types, std::mt19937& random) {
  constexpr int64_t kSides[] = {0, 1, 1, 2, 3, 7, 16, 33, 65, 130, 300, 520};
  const auto some = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  const auto side = [&] { return kSides[random() % std::size(kSides)]; };
  hal::GemmDesc g = describe(types, side(), side(), side());
  if (g.m * g.n * g.k > 10000000) g.k = 9;
  g.transpose_a = some(2) != 0;
  g.transpose_b = some(2) != 0;
  g.batch = g.m * g.n * g.k > 1000000 ? 1 : some(5);
  const auto row = [&](int64_t columns) {
    return std::max<int64_t>(1, columns) + (some(2) != 0 ? some(4) : 0);
  };
  g.lda = row(g.transpose_a ? g.m : g.k);
  g.ldb = row(g.transpose_b ? g.k : g.n);
  g.ldd = row(g.n);
  g.stride_a = some(3) == 0 ? 0 : g.lda * (g.transpose_a ? g.k : g.m);
  g.stride_b = some(3) == 0 ? 0 : g.ldb * (g.transpose_b ? g.n : g.k) + some(3);
  g.stride_d = g.ldd * g.m;
  return g;
}

inline std::string text(const hal::GemmDesc& g) {
  return std::to_string(g.batch) + " of " + std::to_string(g.m) + " x " + std::to_string(g.k) +
         " x " + std::to_string(g.n) + (g.transpose_a ? ", a transposed" : "") +
         (g.transpose_b ? ", b transposed" : "");
}

// A product with its memory: elements that belong to no matrix hold a pattern, which must stay.
class Case {
 public:
  static constexpr std::byte kGuard{0x5a};

  explicit Case(const Product& product) : p(product) {
    const int64_t rows[3] = {p.m, p.k, p.m}, columns[3] = {p.k, p.n, p.n};
    ProductMatrix* matrices[3] = {&p.a, &p.b, &p.d};
    for (size_t i = 0; i < 3; i++) {
      ProductMatrix& x = *matrices[i];
      int64_t low = 0, high = 0;
      const auto side = [&](int64_t stride, int64_t length) {
        const int64_t reach = stride * std::max<int64_t>(0, length - 1);
        (reach < 0 ? low : high) += reach;
      };
      side(x.row, rows[i]);
      side(x.column, columns[i]);
      side(x.batch, p.batch);
      x.start -= low;
      memory[i].assign(static_cast<size_t>(x.start + high + 1 + 3) * size_of(x.type), kGuard);
    }
  }

  std::byte* at(size_t i, int64_t batch, int64_t row, int64_t column) {
    const ProductMatrix& x = i == 0 ? p.a : i == 1 ? p.b : p.d;
    const int64_t e = x.start + batch * x.batch + row * x.row + column * x.column;
    return memory[i].data() + static_cast<size_t>(e) * size_of(x.type);
  }

  // Numbers with fractions for floats, of any size for integers.
  void fill(std::mt19937& random) {
    for (size_t i = 0; i < 2; i++) {
      const DType type = i == 0 ? p.a.type : p.b.type;
      std::uniform_real_distribution<double> real(-1, 1);
      for (size_t e = 0; e < memory[i].size(); e += size_of(type)) {
        double value = real(random);
        if (type == DType::Bool) value = value > 0.3;
        else if (!is_float(type)) value = std::floor(value * 0x1p40);
        put(type, memory[i].data() + e, value);
      }
    }
  }

  std::vector<hal::Binding> bind(hal::Device& device) {
    std::vector<hal::Binding> bindings;
    for (size_t i = 0; i < 3; i++) {
      buffers_.push_back(device.adopt(memory[i].data(), memory[i].size()));
      bindings.push_back({buffers_.back().get(), 0, memory[i].size()});
    }
    return bindings;
  }

  // d by hologram's own program.
  void run_own(hal::Device& device) { run_own(device, libraries::product_launch(p)); }
  void run_own(hal::Device& device, const libraries::ProductLaunch& own, bool races = false) {
    const auto executable = device.compile(libraries::product_program(own.key), {.check = races});
    const auto bindings = bind(device);
    hal::Launch launch;
    launch.executable = executable.get();
    launch.grid = own.grid;
    launch.bindings = bindings;
    launch.scalars = own.scalars;
    const auto stream = device.stream();
    stream->launch(launch);
    stream->wait(stream->submit(), {});
  }

  // d by what a library has agreed to.
  void run(hal::Device& device, const hal::LibraryPlan& plan) {
    const auto bindings = bind(device);
    const auto stream = device.stream();
    const auto workspace = device.allocate(std::max<uint64_t>(plan.workspace(), 1));
    stream->call(plan, bindings, {workspace.get(), 0, plan.workspace()});
    stream->wait(stream->submit(), {});
  }

  // Each element against a sum in long double: with the error that adding up k terms may have; NaN
  // and infinities, and whole numbers, exactly. And what lies between the elements is untouched.
  void check() {
    const DType type = p.d.type;
    std::vector<std::byte> rest = memory[2];
    for (int64_t z = 0; z < p.batch; z++)
      for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
          const std::byte* d = at(2, z, i, j);
          std::memset(rest.data() + (d - memory[2].data()), static_cast<int>(kGuard),
                      size_of(type));
          const std::string where =
              std::to_string(z) + ", " + std::to_string(i) + ", " + std::to_string(j);
          if (is_float(type)) check_float(z, i, j, element(type, d), where);
          else check_whole(z, i, j, d, where);
          if (testing::Test::HasFatalFailure()) return;
        }
    EXPECT_EQ(rest, std::vector<std::byte>(rest.size(), kGuard)) << "written between the elements";
  }

  Product p;
  std::vector<std::byte> memory[3];

 private:
  void check_float(int64_t z, int64_t i, int64_t j, long double found, const std::string& where) {
    long double sum = 0, size = 0;
    for (int64_t t = 0; t < p.k; t++) {
      const long double term =
          element(p.a.type, at(0, z, i, t)) * element(p.b.type, at(1, z, t, j));
      sum += term;
      size += std::fabs(term);
    }
    if (std::isnan(sum) || std::isinf(sum)) {
      ASSERT_EQ(std::isnan(sum), std::isnan(found)) << where;
      if (!std::isnan(sum)) {
        ASSERT_EQ(sum, found) << where;
      }
      return;
    }
    // Long sums are sums of parts, ours (kTermsOfBlock) and those of libraries; even chains of more
    // than 64 terms are not as far off as they may be.
    const auto terms = static_cast<double>(std::min<int64_t>(p.k, 65 + p.k / 64));
    const double summing = epsilon(p.accumulate) * terms;
    const long double bound = static_cast<long double>(summing) * size +
                              epsilon(p.d.type) * std::fabs(sum) +
                              (p.d.type == DType::F16 ? 0x1p-24L : 0x1p-133L);
    ASSERT_LE(std::fabs(found - sum), bound) << where << ": " << found << " for " << sum;
  }

  void check_whole(int64_t z, int64_t i, int64_t j, const std::byte* d, const std::string& where) {
    uint64_t sum = 0;
    for (int64_t t = 0; t < p.k; t++)
      sum += whole(p.a.type, at(0, z, i, t)) * whole(p.b.type, at(1, z, t, j));
    if (p.d.type == DType::Bool) sum = sum != 0;
    ASSERT_EQ(std::memcmp(d, &sum, size_of(p.d.type)), 0) << where;
  }

  std::vector<std::unique_ptr<hal::Buffer>> buffers_;
};

}  // namespace hologram::products
