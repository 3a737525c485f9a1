// What a library of the host has agreed to do.
#pragma once

#include <span>

#include "core/parallel.hpp"
#include "hal/hal.hpp"

namespace hologram::libraries {

class HostPlan : public hal::LibraryPlan {
 public:
  // `operands` are those of Stream::call, in memory of the host, as is the workspace.
  virtual void run(std::span<const hal::Binding> operands, hal::Binding workspace,
                   core::Threads& threads) const = 0;
};

}  // namespace hologram::libraries
