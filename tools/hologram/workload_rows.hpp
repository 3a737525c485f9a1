// Rows of the table of works.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "workloads.hpp"

namespace hologram::tool {

using Tensors = std::vector<Tensor>;

// What a work is made of at a size of about n elements in the first input.
struct Plan {
  std::vector<Shape> inputs;
  Shape result;
  int64_t columns = 1;
  double terms = 0;    // of which each takes Row::flops
  int positions = -1;  // the input that holds positions in the first one, if there is one
  float least = -1;    // of the numbers; the most is 2
};

struct Row {
  std::string_view name;
  Plan (*plan)(int64_t n);
  double flops;
  double tolerance;
  Tensor (*compute)(const Tensors& x);
  double (*expected)(const Workload& work, size_t i);
  bool by_flops = false;
  DType dtype = DType::F32;
  double apart = 2 * tolerance;  // both may be off, to either side
};

template <int inputs>
Plan flat(int64_t n) {
  return {std::vector<Shape>(inputs, Shape{n}), {n}, 1, static_cast<double>(n)};
}

inline double value(const Workload& work, size_t input, size_t i) {
  const Array& array = work.inputs[input];
  return array.dtype() == DType::F64 ? reinterpret_cast<const double*>(array.data())[i]
                                     : reinterpret_cast<const float*>(array.data())[i];
}

// Elementwise operations alone.
std::span<const Row> function_rows();

}  // namespace hologram::tool
