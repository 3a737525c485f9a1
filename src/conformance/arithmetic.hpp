// What a relaxed device makes of arithmetic, as a program on it shows: what it does otherwise than
// IEEE 754 says, and may do, is not held against its results.
#pragma once

#include <string>

#include "conformance/wide.hpp"
#include "hologram/executor.hpp"

namespace hologram::conformance {

struct Arithmetic {
  bool flushes = false;  // what is denormal may be 0, as operand and as result
  bool divides = true;   // quotients are rounded correctly; otherwise they are within 2.5 ulp
  bool roots = true;     // so are square roots; otherwise within 4.5 ulp
  bool converts = true;  // integers become the nearest f32; otherwise one of the two around them
  bool specials = true;  // NaN and infinities come out where they should; otherwise nothing is said
                         // of what they are operands of

  // Of f32's last place, by which results grow uncertain that take a quotient or a root.
  double units_of_quotient() const { return divides ? 0 : 2.5; }
  double units_of_root() const { return roots ? 0 : 4.5; }

  // What is not so, for people: "denormals may become 0; …". Empty if nothing is.
  std::string text() const;
};

// Exact devices are taken at their word.
Arithmetic arithmetic_of(const Executor& executor);

// Divisors beyond it have no bound where quotients are not rounded correctly.
inline constexpr double kLargestDivisor = 0x1p126;

inline bool is_denormal(Wide x) { return x != 0 && magnitude(x) < 0x1p-126; }

}  // namespace hologram::conformance
