// Numbers and lists of numbers that meet nothing that has a dtype.
#pragma once

#include <span>
#include <vector>

#include "expression/value.hpp"
#include "graph/elementwise.hpp"

namespace hologram::expression {

// An elementwise operation of numbers and weak tensors, done at once: of integers alone the four
// rules, powers and comparisons are exact, everything else is as of tensors in the widest dtype of
// the kind. InvalidArgument for an integer beyond i64 and u64.
Value fold(const graph::ElementwiseOp& op, const std::vector<Value>& values,
           std::span<const double> attributes);

}  // namespace hologram::expression
