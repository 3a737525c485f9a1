// The next token out of logits.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "hologram/llm.hpp"

namespace hologram::llm {

// The tokens that may follow with their logits, the likeliest first; of equal ones the lower
// number.
struct Likeliest {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
};
// What is known of the next token: the logits of all, or, where `all` is empty, the likeliest ones.
struct NextLogits {
  std::span<float> all;
  Likeliest likeliest;
};

class Sampler {
 public:
  // InvalidArgument for numbers that make no sense.
  explicit Sampler(const Sampling& how);
  // So many of the likeliest tokens are enough to choose; none: all logits are needed.
  std::optional<int64_t> needs() const;
  // `before`: all tokens up to now, of which the answer has the last ones.
  int32_t choose(const NextLogits& next, std::span<const int32_t> before,
                 std::span<const int32_t> answer);

 private:
  int32_t draw(const Likeliest& likeliest);

  const Sampling how_;
  std::mt19937_64 random_;
};

}  // namespace hologram::llm
