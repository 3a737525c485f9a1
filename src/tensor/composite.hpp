// Functions that are one node of the graph until somebody asks for the result: what they are made
// of is decided then (engine/lowering.hpp). One that is called while another is lowered is lowered
// with it.
#pragma once

#include <bit>
#include <span>

#include "graph/composite.hpp"
#include "tensor/tape.hpp"

namespace hologram::tensor {

// What a composite is made of, in functions of this room: `inputs` are those of the node. Nothing
// is recorded, and no policy of the thread is in force.
using Lowering = Tensor (*)(const Tensors& inputs, std::span<const int64_t> numbers);

graph::Input lower(Lowering lowering, const graph::Node& composite,
                   std::span<const graph::Input> inputs);

// Of a function that may be made of several things: the ways, in the order in which they are asked.
using Ways = graph::Candidates (*)(const Tensors& inputs, std::span<const int64_t> numbers);

graph::Candidates candidates_of(Ways ways, const graph::Node& composite,
                                std::span<const graph::Input> inputs);

// A row of the table of such functions.
template <Lowering kLowering>
constexpr graph::CompositeOp composite(std::string_view name) {
  return {name, [](const graph::Node& node, std::span<const graph::Input> inputs) {
            return lower(kLowering, node, inputs);
          }};
}
template <Lowering kLowering, Ways kWays>
constexpr graph::CompositeOp composite(std::string_view name) {
  graph::CompositeOp row = composite<kLowering>(name);
  row.candidates = [](const graph::Node& node, std::span<const graph::Input> inputs) {
    return candidates_of(kWays, node, inputs);
  };
  return row;
}

// The node, of this dtype and shape, dense.
Tensor meant(const graph::CompositeOp& op, DType dtype, const Shape& shape,
             std::initializer_list<Tensor> inputs, std::vector<int64_t> numbers = {});

// Real numbers and axes among the numbers of a node.
inline int64_t as_number(double number) { return std::bit_cast<int64_t>(number); }
inline double as_real(int64_t number) { return std::bit_cast<double>(number); }
int64_t as_number(const AxisList& axes);
AxisList as_axes(int64_t number);

}  // namespace hologram::tensor
