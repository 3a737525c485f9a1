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
  for (const int64_t n : {lengths[0], lengths[1], lengths[2], count, strides[0], strides[1],
                          strides[2], strides[3], start})
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
  const Value rows = scalar("rows"), columns = scalar("columns"), channels = scalar("channels"),
              count = scalar("count"), by_row = scalar("by_row"), by_column = scalar("by_column"),
              by_channel = scalar("by_channel"), by_output = scalar("by_output"),
              start = scalar("start");
  const Value i = b.global_id(0);
  b.if_(i < count, [&] {
    const Value pixel = i / channels, line = pixel / columns, output = line / rows;
    const Value channel = i - pixel * channels, column = pixel - line * columns,
                row = line - output * rows;
    const Value at =
        start + row * by_row + column * by_column + channel * by_channel + output * by_output;
    b.store(y, i, b.load(x, at));
  });
  return b.finish();
}

}  // namespace hologram::graph
