#include "algorithms/weight_order.hpp"

#include <cstdlib>

#include "fusion/iteration_space.hpp"

namespace hologram::graph {
namespace {

// Row, column, channel, output.
std::array<int64_t, 4> lengths_of(const hal::ConvDesc& d) {
  return {d.rows.kernel, d.columns.kernel, d.channels, d.outputs * d.groups};
}

}  // namespace

std::array<int64_t, 4> strides_by_output(const hal::ConvDesc& desc) {
  const auto [rows, columns, channels, outputs] = lengths_of(desc);
  if (desc.planes) return {columns, 1, rows * columns, rows * columns * channels};
  return {columns * channels, channels, 1, rows * columns * channels};
}

// What axes of length 1 have for strides is nothing.
bool lie_by_output(const hal::ConvDesc& desc) {
  const std::array<int64_t, 4> lengths = lengths_of(desc), wanted = strides_by_output(desc);
  for (size_t i = 0; i < lengths.size(); i++)
    if (lengths[i] != 1 && desc.w_strides[i] != wanted[i]) return false;
  return true;
}

WeightOrder weight_order(const hal::ConvDesc& desc, const std::array<int64_t, 4>& strides,
                         int64_t start) {
  const std::array<int64_t, 4> lengths = lengths_of(desc);
  int64_t count = 1, most = std::abs(start);
  for (size_t i = 0; i < lengths.size(); i++) {
    count *= lengths[i];
    most += std::abs(strides[i]) * lengths[i];
  }
  WeightOrder order;
  order.key = {desc.w, Box::index_type(std::max(count, most))};
  order.bytes = static_cast<uint64_t>(count) * size_of(desc.w);
  order.grid[0] = (static_cast<uint64_t>(count) + kBoxLanes - 1) / kBoxLanes;
  // Of an output, from the axis that is walked last to that of neighbours.
  const std::array<size_t, 3> axes =
      desc.planes ? std::array<size_t, 3>{2, 0, 1} : std::array<size_t, 3>{0, 1, 2};
  for (const size_t axis : axes)
    order.scalars.push_back(index_bits(order.key.index, lengths[axis]));
  order.scalars.push_back(index_bits(order.key.index, count));
  for (const size_t axis : axes)
    order.scalars.push_back(index_bits(order.key.index, strides[axis]));
  for (const int64_t n : {strides[3], start})
    order.scalars.push_back(index_bits(order.key.index, n));
  return order;
}

program::Program order_program(const OrderKey& key) {
  using program::Access;
  using program::Value;
  program::Builder b("weights_by_output", {kBoxLanes}, key.index);
  const program::Buf x = b.buffer("x", key.element, Access::In),
                     y = b.buffer("y", key.element, Access::Out);
  const auto scalar = [&](const char* name) { return b.scalar(name, key.index); };
  const Value outers = scalar("outers"), middles = scalar("middles"), inners = scalar("inners"),
              count = scalar("count"), by_outer = scalar("by_outer"),
              by_middle = scalar("by_middle"), by_inner = scalar("by_inner"),
              by_output = scalar("by_output"), start = scalar("start");
  const Value i = b.global_id(0);
  b.if_(i < count, [&] {
    const Value line = i / inners, plane = line / middles, output = plane / outers;
    const Value inner = i - line * inners, middle = line - plane * middles,
                outer = plane - output * outers;
    const Value at =
        start + outer * by_outer + middle * by_middle + inner * by_inner + output * by_output;
    b.store(y, i, b.load(x, at));
  });
  return b.finish();
}

}  // namespace hologram::graph
