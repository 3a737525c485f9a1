// From lazy nodes to the steps that compute them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fusion/epilogue.hpp"
#include "fusion/kernel.hpp"
#include "fusion/recompute.hpp"

namespace hologram::graph {

struct Step {
  Node* opaque = nullptr;            // a node with a Work, or null: the kernel
  std::optional<Epilogue> epilogue;  // the node is made for that alone; the kernel computes it if
                                     // no library does
  Kernel kernel;
};

// Why a value was written to memory between two kernels.
struct Cut {
  const Node* node;
  std::string reason;
};

struct ScheduleOptions {
  bool fusion = true;
  size_t max_bindings = 16;
  bool large_groups = false;  // of lanes, which keep a row, and may gather its pieces
  bool tracing = false;       // what a capture was given counts as ready
  Costs costs = kCostsOfProcessors;
  hal::LibraryOps* library = nullptr;  // of the device, where it has one and may use it
};

struct Schedule {
  std::vector<Step> steps;  // in the order they run
  std::vector<Cut> cuts;
};

// Everything lazy that the roots are made of, once. The roots must outlive the schedule.
Schedule schedule(const std::vector<Node*>& roots, const ScheduleOptions& options);

}  // namespace hologram::graph
