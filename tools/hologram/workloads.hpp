// What `hologram bench` times: a few typical calculations with tensors, at several sizes, with a
// check of their results.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/array.hpp"
#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::tool {

// One calculation at one size, ready to run.
struct Workload {
  std::string_view name;
  Shape shape;                // of the inputs; of images, the first
  std::vector<Array> inputs;  // f32
  Shape result;
  double bytes = 0;  // that must be read and written at least
  double flops = 0;
  bool by_flops = false;  // its speed is told in GFLOP/s, not in GB/s
  double tolerance = 0;   // of the result, against the larger of it and 1
  // The result of tensors made from the inputs.
  Tensor (*compute)(const std::vector<Tensor>& inputs);
  // Element i of the result in double.
  double (*expected)(const Workload& work, size_t i);

  // GB/s or GFLOP/s
  double speed(double seconds) const { return (by_flops ? flops : bytes) / seconds / 1e9; }
  const char* unit() const { return by_flops ? "GFLOP/s" : "GB/s"; }
};

// Their names, in the order in which they are shown.
std::vector<std::string> workload_names();

// With about n elements in an input.
Workload make_workload(std::string_view name, int64_t n);

// Where the result is wrong: "element 3 is 2, not 1"; empty if some thousand elements of it, the
// first and the last among them, are right.
std::string mistake(const Workload& work, std::span<const float> result);

// DeviceLost, which names who computed it, if the result is wrong.
void refuse_mistake(const std::string& who, const Workload& work, std::span<const float> result);

// One way of doing the same work.
struct Contestant {
  std::string name;
  std::function<void()> run;
  double best = 0;  // seconds of one run, in the best round
};

enum class Clock {
  Wall,
  Processor,  // of all threads together: on a machine that does other work, too
};

// Rounds in which each has its turn, so that what else the machine does hits all of them alike.
// Short work is repeated within a round.
void race(std::vector<Contestant>& contestants, int rounds, Clock clock = Clock::Wall);

}  // namespace hologram::tool
