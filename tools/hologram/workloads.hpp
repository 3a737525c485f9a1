// What `hologram bench` times: typical calculations with tensors, at several sizes, with a check of
// their results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hologram/array.hpp"
#include "hologram/tensor.hpp"

namespace hologram::tool {

// One calculation at one size, ready to run.
struct Workload {
  std::string_view name;
  std::vector<Array> inputs;
  Shape result;
  int64_t columns = 1;  // of rows; of squares and of images: elements or pixels a side
  double bytes = 0;     // that must be read and written at least
  double flops = 0;
  bool by_flops = false;  // its speed is told in GFLOP/s, not in GB/s
  double tolerance = 0;   // of the result, against the larger of it and 1
  double apart = 0;       // how much two that are right may differ, anywhere
  // The result of tensors made from the inputs.
  Tensor (*compute)(const std::vector<Tensor>& inputs);
  // Element i of the result in double.
  double (*expected)(const Workload& work, size_t i);

  DType dtype() const { return inputs.front().dtype(); }
  // GB/s or GFLOP/s
  double speed(double seconds) const { return (by_flops ? flops : bytes) / seconds / 1e9; }
  const char* unit() const { return by_flops ? "GFLOP/s" : "GB/s"; }
};

// Their names, in the order in which they are shown: those of f32 only unless `doubles`, and
// without single elementwise operations unless `functions`.
std::vector<std::string> workload_names(bool doubles = true, bool functions = true);

// With about n elements in the first input.
Workload make_workload(std::string_view name, int64_t n);

// Where the result is wrong: "element 3 is 2, not 1"; empty if some thousand elements of it, the
// first and the last among them, are right.
std::string mistake(const Workload& work, const Array& result);

// DeviceLost, which names who computed it, if the result is wrong there or anywhere differs from
// `right`, which was found right and may be empty.
void refuse_mistake(const std::string& who, const Workload& work, const Array& result,
                    const Array& right = {});

}  // namespace hologram::tool
