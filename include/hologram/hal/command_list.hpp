// Work that is made ready once and done again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/launch.hpp"
#include "hologram/hal/library.hpp"

namespace hologram::hal {

// A part of a CommandList: a launch if there is an executable; a call if there is a plan, whose
// bindings are the operands and the workspace; else a copy to its first binding from its second, or
// a fill of its only one.
struct Command {
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const LibraryPlan> plan;
  Grid grid = {1, 1, 1};
  std::vector<Binding> bindings;
  std::vector<uint64_t> scalars;
  uint32_t pattern = 0;
};

// Work in order, made ready to be done again and again as a whole. Whoever has it keeps the memory
// of its bindings.
class CommandList {
 public:
  virtual ~CommandList() = default;
  virtual std::string note() const = 0;  // "a CUDA graph of 100 nodes"
};

}  // namespace hologram::hal
