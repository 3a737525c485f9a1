// Tokens of one sequence as rows of a decoder's step.
#pragma once

#include <span>
#include <vector>

#include "llm/decoder.hpp"

namespace hologram::tests {

inline std::vector<llm::Row> rows_of(std::span<const int32_t> tokens, int64_t position,
                                     int32_t sequence = 0) {
  std::vector<llm::Row> rows;
  for (const int32_t token : tokens)
    rows.push_back({token, sequence, static_cast<int32_t>(position++)});
  return rows;
}

}  // namespace hologram::tests
