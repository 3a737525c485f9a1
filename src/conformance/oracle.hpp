// What every operation ought to give, by its name, one element after the other: written from the
// words of the documents, without any of the library's arithmetic.
#pragma once

#include <span>
#include <string_view>

#include "conformance/wide.hpp"

namespace hologram::conformance {

// Width and sign of the integers that an operation works on.
struct Kind {
  int bits;
  bool is_signed;
};

using Real = Wide (*)(const Wide* x, const double* attributes);
using Whole = Integer (*)(const Integer* x, Kind kind);  // wrapped by the caller

enum class Operands : uint8_t {
  Any,       // infinities, NaN and what lies outside of the domain are as the oracle says
  Inside,    // only what lies in the row's domain, and NaN
  Quotients  // Inside, and divisors that are not small
};

struct Oracle {
  std::string_view name;
  Real real;    // null: not for floats
  Whole whole;  // null: not for integers, or by way of f32
  Operands operands = Operands::Any;
};

std::span<const Oracle> oracles();
const Oracle* find_oracle(std::string_view name);

}  // namespace hologram::conformance
