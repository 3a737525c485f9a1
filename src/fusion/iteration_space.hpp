// Programs over three axes: what lies outside of the axis that an operation is about, that axis,
// and what lies inside. Lanes walk the innermost axis that is long, else, where they go at a time,
// all axes as one, so that neighbours touch what lies together, and where they go in turns the
// longest.
#pragma once

#include <array>
#include <string>

#include "hologram/builder.hpp"
#include "hologram/executor.hpp"

namespace hologram::graph {

inline constexpr uint32_t kBoxLanes = 256;

// From so many elements on lanes walk the innermost axis: fewer leave most of a block idle. Where
// they go in turns none is, and some neighbours cost less than lanes that each touch a line of
// their own.
constexpr int64_t long_axis(bool sequential_lanes) { return sequential_lanes ? 6 : 64; }

struct Box {
  std::array<int64_t, 3> lengths = {1, 1, 1};
  bool sequential_lanes = false;  // one processor runs the lanes of a group, one after the other

  static constexpr int kAllAxes = 3;
  int lanes_axis() const;                               // or kAllAxes
  int64_t lanes() const;                                // along that
  Grid grid(uint32_t lanes_a_group = kBoxLanes) const;  // of workgroups of so many
  // i32 where so many elements can be counted in it.
  static DType index_type(int64_t most_elements);
};

// The positions of a lane in the box, and the condition that it lies inside; or of the lane with
// the number `along` the lanes' axis. `lengths` are scalars of the program.
struct Place {
  std::array<program::Value, 3> at;
  program::Value inside;
};
Place place(program::Builder& builder, int lanes_axis, const std::array<program::Value, 3>& lengths,
            program::Value along);
Place place(program::Builder& builder, int lanes_axis,
            const std::array<program::Value, 3>& lengths);

// Scalars as a launch takes them.
uint64_t index_bits(DType index, int64_t value);

}  // namespace hologram::graph
