// bench_operations: evaluates what it is asked for on standard input, a line at a time, and answers
// with what that took; compare_operations.py asks, and PyTorch takes its turns in between.
//
//   names                                  a line: names and the dtypes they are for
//   check NAME DTYPE ROWS COLUMNS          the number of elements, their sum and that of their
//   squares time NAME DTYPE ROWS COLUMNS SECONDS   seconds an evaluation takes, measured for about
//   so long device                                 its name
//
// The device is the one that HOLOGRAM_BACKEND names.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "hologram/hologram.hpp"

namespace {

using namespace hologram;
using Clock = std::chrono::steady_clock;

// compare_operations.py makes the same numbers.
uint64_t mixed(uint64_t k) { return (k * 2654435761) >> 7; }

struct Inputs {
  Tensor x, y, z, row, column, m, p, q;

  Inputs() = default;
  Inputs(DType dtype, int64_t rows, int64_t columns) {
    uint64_t next = 0;
    const auto made = [&](int64_t n, int64_t k, const auto& value) {
      std::vector<float> values(static_cast<size_t>(n * k));
      for (float& v : values) v = value(mixed(next++));
      return Tensor::from_vector(values, {n, k});
    };
    const auto numbers = [&](int64_t n, int64_t k) {
      const bool whole = is_integer(dtype);
      return made(n, k,
                  [&](uint64_t random) {
                    const float v = static_cast<float>(random % 2001) / 500 - 2;
                    const float signed_one = whole ? std::trunc(v * 20) : v;
                    return is_unsigned_integer(dtype) ? std::fabs(signed_one) : signed_one;
                  })
          .to(dtype)
          .eval();
    };
    const auto below = [&](int64_t n, int64_t k, int64_t end) {
      return made(n, k,
                  [&](uint64_t random) {
                    return static_cast<float>(random % static_cast<uint64_t>(end));
                  })
          .to(DType::I64)
          .eval();
    };
    x = numbers(rows, columns);
    y = numbers(rows, columns);
    z = numbers(rows, columns);
    row = numbers(1, columns);
    column = numbers(rows, 1);
    m = numbers(columns, 64);
    p = below(1, rows, rows).reshape({-1});
    q = below(rows, columns, columns);
  }
};

enum class Dtypes : uint8_t { Any, Real, Whole };

struct Operation {
  Dtypes dtypes;
  Tensor (*compute)(const Inputs& in);
};

// The lines of the table use those of the inputs that they need.
#define OPERATION(name, dtypes, here, torch)                                    \
  {#name, {Dtypes::dtypes, [](const Inputs& in) -> Tensor {                     \
             [[maybe_unused]] const auto& [x, y, z, row, column, m, p, q] = in; \
             return here;                                                       \
           }}},
const std::map<std::string, Operation> kOperations = {
#include "operations.inc"
};
#undef OPERATION

class Asked {
 public:
  void answer(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name, dtype;
    words >> verb;
    if (verb == "names") return names();
    if (verb == "device") return fmt::print("{}\n", default_executor().device().name);
    int64_t rows = 0, columns = 0;
    double seconds = 0;
    words >> name >> dtype >> rows >> columns >> seconds;
    const auto found = kOperations.find(name);
    if (found == kOperations.end()) throw std::invalid_argument("no operation is called " + name);
    const std::string key = fmt::format("{} {} {}", dtype, rows, columns);
    if (key != key_) inputs_ = Inputs(dtype_of(dtype), rows, columns);
    key_ = key;
    if (verb == "check") check(found->second);
    else if (verb == "time") time(found->second, seconds);
    else throw std::invalid_argument("nobody knows what " + verb + " is");
  }

 private:
  static DType dtype_of(const std::string& name) {
    if (const auto dtype = parse_dtype(name)) return *dtype;
    throw std::invalid_argument("no dtype is called " + name);
  }

  static void names() {
    constexpr const char* kDtypes[] = {"any", "real", "whole"};
    std::string all;
    for (const auto& [name, operation] : kOperations)
      all += fmt::format("{} {} ", name, kDtypes[static_cast<size_t>(operation.dtypes)]);
    fmt::print("{}\n", all);
  }

  void check(const Operation& operation) const {
    const Tensor made = operation.compute(inputs_).to(DType::F64);
    const Array all = made.array();
    double sum = 0, squares = 0;
    for (size_t i = 0; i < all.size(); i++) {
      sum += all.as<double>()[i];
      squares += all.as<double>()[i] * all.as<double>()[i];
    }
    fmt::print("{} {} {}\n", all.size(), sum, squares);
  }

  void time(const Operation& operation, double seconds) const {
    const auto took = [&](int64_t times) {
      const auto begin = Clock::now();
      for (int64_t k = 0; k < times; k++) (void)operation.compute(inputs_).eval();
      default_executor().synchronize();
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    took(1);  // what is compiled and tried out the first time
    int64_t times = 1;
    double last = took(times);
    while (last < seconds / 4) last = took(times *= 2);
    times = std::max<int64_t>(1, static_cast<int64_t>(seconds / last * static_cast<double>(times)));
    fmt::print("{}\n", took(times) / static_cast<double>(times));
  }

  Inputs inputs_;
  std::string key_;
};

}  // namespace

int main() {
  Asked asked;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      asked.answer(line);
    } catch (const std::exception& error) {
      fmt::print("error: {}\n", error.what());
    }
    std::fflush(stdout);
  }
}
