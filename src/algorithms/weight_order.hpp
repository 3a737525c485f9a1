// The weights of a convolution in the order that some libraries want: output, row, column, channel.
#pragma once

#include <array>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::graph {

// What the strides of a desc are for weights that lie so.
std::array<int64_t, 4> strides_by_output(const hal::ConvDesc& desc);
// Whether they do.
bool lie_by_output(const hal::ConvDesc& desc);

// A launch that brings others there. The bindings are the weights and what becomes of them.
struct OrderKey {
  DType element = DType::None, index = DType::None;
};
struct WeightOrder {
  OrderKey key;
  Grid grid = {1, 1, 1};
  std::vector<uint64_t> scalars;
  uint64_t bytes = 0;  // of the result
};
// Of weights whose first element is number `start`.
WeightOrder weight_order(const hal::ConvDesc& desc, const std::array<int64_t, 4>& strides,
                         int64_t start);
program::Program order_program(const OrderKey& key);

}  // namespace hologram::graph
