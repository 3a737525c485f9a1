#include "fusion/combine.hpp"

#include <limits>

namespace hologram::graph {

using program::Builder;
using program::Combine;
using program::Value;

namespace {

Value extreme(Builder& b, bool highest, DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_float(type)) return b.constant(type, highest ? kInfinity : -kInfinity);
  const uint64_t ones = size_of(type) == 4 ? 0xffffffffu : UINT64_MAX;
  if (is_unsigned_integer(type)) return b.constant_bits(type, highest ? ones : 0);
  return b.constant_bits(type, highest ? ones >> 1 : ones - (ones >> 1));
}

}  // namespace

Value identity(Builder& b, Combine combine, DType type) {
  switch (combine) {
    case Combine::Mul: return b.constant(type, int64_t{1});
    case Combine::Min:
    case Combine::Max: return extreme(b, combine == Combine::Min, type);
    default: return b.constant(type, int64_t{0});
  }
}

Value combined(Combine combine, Value a, Value b) {
  switch (combine) {
    case Combine::Mul: return a * b;
    case Combine::Min: return min(a, b);
    case Combine::Max: return max(a, b);
    default: return a + b;
  }
}

}  // namespace hologram::graph
