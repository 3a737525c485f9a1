#include "dialects/patterns.hpp"

namespace hologram::dialects {

std::string_view find_pattern(std::span<const Pattern> patterns,
                              std::span<const Conversion> conversions, program::Op op, uint8_t to,
                              uint8_t from) {
  if (op == program::Op::Cast || op == program::Op::Bitcast) {
    for (const Conversion& row : conversions)
      if (row.op == op && (row.to & to) != 0 && (row.from & from) != 0) return row.text;
  } else {
    for (const Pattern& row : patterns)
      if (row.op == op && (row.kinds & from) != 0) return row.text;
  }
  return {};
}

}  // namespace hologram::dialects
