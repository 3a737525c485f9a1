// The random programs that tests of dialects share, and what the environment says of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "oracle/random_program.hpp"
#include "oracle/random_values.hpp"

namespace hologram::dialects {

inline constexpr DType kTypes[] = {DType::Bool, DType::I32, DType::U32, DType::I64,
                                   DType::U64,  DType::F32, DType::F64};

inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Whether time is no matter: compiling is what most of these tests wait for.
inline bool thorough() { return number_from("HOLOGRAM_TEST_KERNELS", 0) >= 100; }

// Calls `check` with the seed and the case of so many random programs.
template <class Check>
void for_random_programs(uint64_t count, const Check& check) {
  const uint64_t first = number_from("HOLOGRAM_TEST_FIRST", 1);
  for (uint64_t seed = first; seed < first + number_from("HOLOGRAM_TEST_KERNELS", count); seed++) {
    oracle::Choices choices(seed);
    const oracle::RandomCase c = oracle::random_case(choices);
    check(seed, c);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace hologram::dialects
