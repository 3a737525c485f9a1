#include "fusion/iteration_space.hpp"

#include <algorithm>

namespace hologram::graph {

using program::Builder;
using program::Value;

int Box::lanes_axis() const {
  if (lengths[2] >= long_axis(sequential_lanes)) return 2;
  if (!sequential_lanes && lengths[2] > 1) return kAllAxes;
  if (lengths[1] >= long_axis(false)) return 1;
  if (!sequential_lanes && lengths[1] > 1) return kAllAxes;
  return static_cast<int>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
}

int64_t Box::lanes() const {
  const int axis = lanes_axis();
  return axis == kAllAxes ? lengths[0] * lengths[1] * lengths[2]
                          : lengths[static_cast<size_t>(axis)];
}

Grid Box::grid(uint32_t lanes_a_group) const {
  Grid grid = {1, 1, 1};
  size_t next = 1;
  const int walked = lanes_axis();
  grid[0] = (static_cast<uint64_t>(lanes()) + lanes_a_group - 1) / lanes_a_group;
  for (int axis = 0; axis < 3 && walked != kAllAxes; axis++)
    if (axis != walked) grid[next++] = static_cast<uint64_t>(lengths[static_cast<size_t>(axis)]);
  return grid;
}

DType Box::index_type(int64_t most_elements) {
  return most_elements < INT32_MAX - (1 << 16) ? DType::I32 : DType::I64;
}

Place place(Builder& builder, int lanes_axis, const std::array<Value, 3>& lengths, Value along) {
  Place result;
  if (lanes_axis == Box::kAllAxes) {
    const Value outer = along / lengths[2];
    result.inside = along < lengths[0] * lengths[1] * lengths[2];
    result.at = {outer / lengths[1], outer % lengths[1], along % lengths[2]};
    return result;
  }
  int next = 1;
  for (int axis = 0; axis < 3; axis++) {
    const auto k = static_cast<size_t>(axis);
    result.at[k] = axis == lanes_axis ? along : builder.group_id(next++);
    if (axis == lanes_axis) result.inside = result.at[k] < lengths[k];
  }
  return result;
}

Place place(Builder& builder, int lanes_axis, const std::array<Value, 3>& lengths) {
  return place(builder, lanes_axis, lengths, builder.global_id(0));
}

uint64_t index_bits(DType index, int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return index == DType::I32 ? bits & 0xffffffffu : bits;
}

}  // namespace hologram::graph
