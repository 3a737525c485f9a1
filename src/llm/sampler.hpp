// The next token out of logits.
#pragma once

#include <random>
#include <span>

#include "hologram/llm.hpp"

namespace hologram::llm {

class Sampler {
 public:
  // InvalidArgument for numbers that make no sense.
  explicit Sampler(const Sampling& how);
  // `before`: all tokens up to now, of which the answer has the last ones.
  int32_t choose(std::span<float> logits, std::span<const int32_t> before,
                 std::span<const int32_t> answer);

 private:
  const Sampling how_;
  std::mt19937_64 random_;
};

}  // namespace hologram::llm
