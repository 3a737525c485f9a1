// A schedule without its nodes: which kernels run on what, by places in a GraphSignature. It serves
// every graph of the same signature.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/lowering.hpp"
#include "fusion/library_kernels.hpp"
#include "fusion/schedule.hpp"
#include "graph/signature.hpp"
#include "hologram/program.hpp"
#include "runtime/profiler.hpp"

namespace hologram::graph {

struct PlannedStep {
  struct Made {
    uint32_t place;
    bool complete;          // no later step writes a part of it
    bool in_place = false;  // in memory that the kernel is given as one of its loads
  };
  // A number of a node that is an argument of the kernel.
  struct Number {
    uint32_t scalar, place, attribute;
  };

  static constexpr uint32_t kNone = UINT32_MAX;

  bool done = false;         // what it would write is there: it copies a donated input onto itself
  bool opaque = false;       // the only one that is made does its own work
  uint32_t product = kNone;  // what is made is the epilogue of this one
  std::vector<uint32_t> loads;
  std::vector<Made> made;
  std::vector<Number> numbers;
  // Nodes that are held until the step has run: it computes again what a step before it makes,
  // which then lets go of its inputs.
  std::vector<uint32_t> held;

  // Of a kernel that has something to do, once it has run for the first time.
  bool ready = false;
  std::optional<Program> program;
  std::shared_ptr<hal::Executable> executable;
  // Null unless a library has the kernel: its operands are a part of what is read, from bytes on,
  // and one of what is made.
  std::shared_ptr<const hal::LibraryPlan> by_library;
  std::array<LibraryKernel::Operand, 2> parts{};
  uint64_t to = 0;
  Grid grid = {1, 1, 1};
  std::vector<uint64_t> scalars;
  runtime::Work work;
};

struct Plan {
  std::vector<uint64_t> key;  // of the signature
  std::vector<PlannedStep> steps;
  // Whose nodes the steps mean; null where the graph has no composites: then its own.
  std::unique_ptr<Lowered> lowered;
};

// How the lazy nodes of a signature are computed. Composites are lowered first; then the steps mean
// the nodes of the plan's lowered graph. `captured`: what is given is lent by whoever replays it.
struct Planned {
  Schedule schedule;
  Plan plan;
};
Planned plan_of(const GraphSignature& signature, ScheduleOptions how, bool captured);

// The last step that makes or reads each node that steps know.
std::unordered_map<Node*, size_t> last_steps(const Plan& plan, const std::vector<Node*>& nodes);

// Calls `read` with each node that the step reads.
template <class F>
void for_each_read(const PlannedStep& step, const std::vector<Node*>& nodes, const F& read) {
  for (const PlannedStep::Made& made : step.made) {
    if (!step.opaque && step.product == PlannedStep::kNone) break;
    for (const Input& input : nodes[step.opaque ? made.place : step.product]->inputs)
      read(input.node.get());
  }
  for (const uint32_t place : step.loads) read(nodes[place]);
}

}  // namespace hologram::graph
