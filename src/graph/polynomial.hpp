// Polynomials of the functions of the table of elementwise operations.
#pragma once

#include <span>

#include "hologram/builder.hpp"

namespace hologram::graph {

// Coefficients from the highest on.
inline program::Value polynomial(program::Value x, std::span<const double> coefficients) {
  program::Value sum = x.builder()->constant(x.type(), coefficients[0]);
  for (const double c : coefficients.subspan(1)) sum = fma(sum, x, c);
  return sum;
}

}  // namespace hologram::graph
