// Measures the error of every transcendental function and writes docs/accuracy.md.
//
//   accuracy --exhaustive | --sample [--function NAME] [--type f32|f64] [--markdown FILE]
//
// --exhaustive runs every f32 input of the functions of one operand; what has too many inputs for
// that (f64, two operands) is sampled in both modes. Results in f32 are first compared with those
// of the f64 kernels, which are fast; every 64th, and every one that might be a new maximum,
// is then compared with the C library, and only that counts. The kernels are those of the best
// instruction set of this processor; expansions_test proves that the others compute the same bits.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "function_oracle.hpp"
#include "interp/targets.hpp"

namespace hologram::test {
namespace {

constexpr size_t kBlock = 4096;
constexpr int kThreads = 2;

struct Worst {
  double error = -1;
  uint64_t a = 0, b = 0;
  uint64_t inputs = 0;
  void merge(const Worst& o) {
    inputs += o.inputs;
    if (o.error > error) error = o.error, a = o.a, b = o.b;
  }
};

// A sequence of well mixed bits (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014).
uint64_t mix(uint64_t n) {
  n *= 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

// The n-th sample: all bits, or (for every other n) a number of ordinary size; `near` samples the
// second operand so that the result is neither overflow nor trivial.
template <class T>
T sample(uint64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const uint64_t bits = mix(n);
  if (n % 2 == 0) return std::bit_cast<T>(static_cast<Bits>(bits));
  const double unit = static_cast<double>(mix(bits) >> 11) * 0x1p-53;
  const int exponent = static_cast<int>(bits % 24) - 12;
  return static_cast<T>(std::ldexp(bits >> 63 ? -1 - unit : 1 + unit, exponent));
}

template <class T>
T second_operand(const Function& f, T a, uint64_t n) {
  const T b = sample<T>(n * 2 + 0x123456789);
  if (f.op == Op::Pow && n % 4 != 0 && a > 0 && std::isfinite(a)) {
    // y with |y log2 x| up to a little beyond the exponent range.
    const double range = sizeof(T) == 4 ? 152 : 1080;
    const double unit = static_cast<double>(mix(n + 77) >> 11) * 0x1p-52 - 1;
    return static_cast<T>(unit * range / std::log2(static_cast<double>(a)));
  }
  if (f.op == Op::Atan2 && n % 4 != 0) {
    const int exponent = static_cast<int>(mix(n + 99) % 64) - 32;
    const double unit = 1 + static_cast<double>(mix(n + 55) >> 11) * 0x1p-53;
    const double value = std::ldexp(static_cast<double>(a), exponent) * unit;
    return static_cast<T>(n % 8 < 4 ? value : -value);
  }
  return b;
}

template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

template <class T>
Wide<T> exact(const Function& f, T a, T b) {
  if constexpr (sizeof(T) == 4) return f.wide != nullptr ? f.wide(a) : f.wide2(a, b);
  else return f.widest != nullptr ? f.widest(a) : f.widest2(a, b);
}

template <class T>
void apply(const Function& f, const std::vector<T>& a, const std::vector<T>& b,
           std::vector<T>& out) {
  const interp::KernelTable& table = interp::kernel_table(interp::supported_targets().front());
  const interp::Operand in[2] = {
      {reinterpret_cast<const std::byte*>(a.data()), interp::kGroup * sizeof(T)},
      {reinterpret_cast<const std::byte*>(b.data()), interp::kGroup * sizeof(T)}};
  table.at(f.op, dtype_of<T>)(reinterpret_cast<std::byte*>(out.data()), in,
                              kBlock / interp::kGroup);
}

// Inputs number first, first + 1, … of `generate`, in blocks.
template <class T, class Generate>
Worst run(const Function& f, uint64_t first, uint64_t count, Generate generate) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> a(kBlock), b(kBlock), out(kBlock);
  std::vector<double> wide_a(kBlock), wide_b(kBlock), near(kBlock);
  Worst worst;
  for (uint64_t n = first; n < first + count; n += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) generate(n + i, a[i], b[i]);
    apply(f, a, b, out);
    if constexpr (sizeof(T) == 4) {
      std::copy(a.begin(), a.end(), wide_a.begin());
      std::copy(b.begin(), b.end(), wide_b.begin());
      apply(f, wide_a, wide_b, near);
    }
    for (size_t i = 0; i < kBlock; ++i) {
      if (sizeof(T) == 4 && i % 64 != n / kBlock % 64 && worst.error > 0.51 &&
          (std::bit_cast<Bits>(out[i]) == std::bit_cast<Bits>(static_cast<T>(near[i])) ||
           ulp_error(out[i], near[i]) < worst.error - 1e-6))
        continue;
      const double error = ulp_error(out[i], exact(f, a[i], b[i]));
      if (error > worst.error) {
        worst.error = error;
        worst.a = std::bit_cast<Bits>(a[i]);
        worst.b = std::bit_cast<Bits>(b[i]);
      }
    }
    worst.inputs += kBlock;
  }
  return worst;
}

template <class T, class Generate>
Worst run_threads(const Function& f, uint64_t count, Generate generate) {
  const uint64_t share = count / kThreads / kBlock * kBlock;
  std::vector<Worst> worst(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { worst[t] = run<T>(f, t * share, share, generate); });
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) worst[0].merge(worst[t]);
  return worst[0];
}

template <class T>
Worst measure(const Function& f, bool exhaustive) {
  const bool binary = f.wide2 != nullptr;
  if (sizeof(T) == 4 && !binary) {
    const uint32_t step = exhaustive ? 1 : 331;  // odd: visits every mantissa and exponent
    return run_threads<T>(f, (uint64_t{1} << 32) / step, [step](uint64_t n, T& a, T&) {
      a = static_cast<T>(std::bit_cast<float>(static_cast<uint32_t>(n * step)));
    });
  }
  uint64_t count = binary ? 200'000'000 : 50'000'000;
  if (!exhaustive) count /= 20;
  return run_threads<T>(f, count, [&f, binary](uint64_t n, T& a, T& b) {
    a = sample<T>(n);
    b = binary ? second_operand(f, a, n) : T{0};
  });
}

std::string show(uint64_t bits, bool f32) {
  char text[64];
  const double value =
      f32 ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

int main_program(int argc, char** argv) {
  bool exhaustive = false, chosen = false;
  std::string only, type, markdown;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--exhaustive") exhaustive = chosen = true;
    else if (arg == "--sample") chosen = true;
    else if (arg == "--function" && more) only = argv[++i];
    else if (arg == "--type" && more) type = argv[++i];
    else if (arg == "--markdown" && more) markdown = argv[++i];
    else chosen = false, i = argc;
  }
  if (!chosen) {
    std::fprintf(stderr,
                 "usage: accuracy --exhaustive | --sample [--function NAME] [--type f32|f64] "
                 "[--markdown FILE]\n");
    return 2;
  }
  std::string rows;
  bool good = true;
  for (const Function& f : kFunctions) {
    if (!only.empty() && f.name != only) continue;
    for (const bool f32 : {true, false}) {
      if (!type.empty() && (type == "f32") != f32) continue;
      const Worst w = f32 ? measure<float>(f, exhaustive) : measure<double>(f, exhaustive);
      const double bound = f32 ? f.bound32 : f.bound64;
      const bool binary = f.wide2 != nullptr;
      const std::string input = show(w.a, f32) + (binary ? ", " + show(w.b, f32) : "");
      const char* method = exhaustive && f32 && !binary ? "every input" : "sampled";
      good &= w.error <= bound;
      std::printf("%-8s %s  max %.4f ULP  bound %g  at %s  (%s, %llu inputs)%s\n", f.name.data(),
                  f32 ? "f32" : "f64", w.error, bound, input.c_str(), method,
                  static_cast<unsigned long long>(w.inputs), w.error <= bound ? "" : "  EXCEEDED");
      std::fflush(stdout);
      char row[256];
      std::snprintf(row, sizeof row, "| %s | %s | %g | %.3f | `%s` | %s, %.3g inputs |\n",
                    f.name.data(), f32 ? "f32" : "f64", bound, w.error, input.c_str(), method,
                    static_cast<double>(w.inputs));
      rows += row;
    }
  }
  if (!markdown.empty()) {
    std::ofstream out(markdown);
    out << "# Accuracy of the transcendental functions\n\n"
           "Written by `build/tests/accuracy --exhaustive --markdown docs/accuracy.md`.\n\n"
           "The error is |result - exact| in units in the last place of the exact value rounded "
           "to\n"
           "the type; those of denormal numbers are the smallest denormal. The exact value comes\n"
           "from the C library: in double for f32, in 80-bit extended precision for f64, where "
           "the\n"
           "error is certain to about 0.002 ULP. Every f32 result is compared with hologram's own\n"
           "f64 function, and every 64th and every new maximum with the C library. Each "
           "exact\n"
           "device computes these same bits. `sqrt` is an instruction and correctly rounded.\n\n"
           "| function | type | bound (ULP) | largest error found (ULP) | at | method |\n"
           "|---|---|---|---|---|---|\n"
        << rows;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hologram::test

int main(int argc, char** argv) { return hologram::test::main_program(argc, argv); }
