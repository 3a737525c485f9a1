#include "graph/box.hpp"

#include <algorithm>

namespace hologram::graph {

using program::Builder;
using program::Value;

int Box::lanes_axis() const {
  if (lengths[2] >= long_axis(in_turns)) return 2;
  if (lengths[1] >= long_axis(false)) return 1;
  return static_cast<int>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
}

Grid Box::grid(uint32_t lanes) const {
  Grid grid;
  size_t next = 1;
  for (int axis = 0; axis < 3; axis++) {
    const auto n = static_cast<uint64_t>(lengths[static_cast<size_t>(axis)]);
    if (axis == lanes_axis()) grid[0] = (n + lanes - 1) / lanes;
    else grid[next++] = n;
  }
  return grid;
}

DType Box::index_type(int64_t most_elements) {
  return most_elements < INT32_MAX - (1 << 16) ? DType::I32 : DType::I64;
}

Place place(Builder& builder, int lanes_axis, const std::array<Value, 3>& lengths) {
  Place result;
  int next = 1;
  for (int axis = 0; axis < 3; axis++) {
    const auto k = static_cast<size_t>(axis);
    result.at[k] = axis == lanes_axis ? builder.global_id(0) : builder.group_id(next++);
    if (axis == lanes_axis) result.inside = result.at[k] < lengths[k];
  }
  return result;
}

uint64_t index_bits(DType index, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return index == DType::I32 ? bits & 0xffffffffu : bits;
}

}  // namespace hologram::graph
