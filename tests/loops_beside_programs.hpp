// Loops of our own on the processor beside compiled programs and the interpreter: results are the
// same bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "cpu_executor.hpp"
#include "hologram/hologram.hpp"

namespace hologram::tests {

inline constexpr DType kTypes[] = {DType::Bool, DType::I8,  DType::U8,  DType::I16, DType::U16,
                                   DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                                   DType::BF16, DType::F32, DType::F64};

struct Way {
  const char* name;
  Executor executor;
  bool loops;
};
inline const std::vector<Way>& ways() {
  static const auto* all = new std::vector<Way>{
      {"the interpreter", cpu(1, Jit::Off, false), false},
      {"compiled, 2 threads", cpu(2, Jit::Always, false), false},
      {"loops", cpu(1, Jit::On, true), true},
      {"loops, 2 threads", cpu(2, Jit::On, true), true},
      {"loops, 3 threads", cpu(3, Jit::On, true), true},
  };
  return *all;
}

// Many equals, zeros of both signs, what is no number and what is infinite, in a float's place.
inline Array numbers(DType type, const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  Array array(type, shape);
  if (!is_float(type)) {
    std::byte* const to = array.mutable_data();
    for (size_t i = 0; i < array.bytes(); i++)
      to[i] = static_cast<std::byte>(type == DType::Bool ? random() % 2 : random());
    return array;
  }
  std::vector<double> values(array.size());
  std::normal_distribution<double> normal(0, 100);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, std::nan(""), kInfinity, -kInfinity, 1e-40, -1e-40, 1, -1};
  for (double& v : values)
    v = random() % 3 == 0   ? special[random() % std::size(special)]
        : random() % 2 == 0 ? std::floor(normal(random))
                            : normal(random);
  return Tensor::from_vector(values, shape, ways()[0].executor).to(type).array();
}

using Make = std::function<std::vector<Tensor>(const Executor&)>;

inline void expect_same_everywhere(const Make& make) {
  std::vector<Array> first;
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const uint64_t before = way.executor.counters().library_calls;
    std::vector<Array> made;
    for (const Tensor& t : make(way.executor)) made.push_back(t.array());
    EXPECT_EQ(way.executor.counters().library_calls > before, way.loops);
    if (first.empty()) {
      first = std::move(made);
      continue;
    }
    ASSERT_EQ(first.size(), made.size());
    for (size_t k = 0; k < made.size(); k++) {
      ASSERT_EQ(first[k].bytes(), made[k].bytes());
      EXPECT_EQ(std::memcmp(first[k].data(), made[k].data(), made[k].bytes()), 0) << "result " << k;
    }
  }
}

}  // namespace hologram::tests
