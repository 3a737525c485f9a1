// What a library of the host has agreed to do.
#pragma once

#include <span>

#include "core/parallel.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/library.hpp"

namespace hologram::libraries {

class HostPlan : public hal::LibraryPlan {
 public:
  uint64_t workspace() const override { return 0; }
  // `operands` are those of Stream::call, in memory of the host, as is the workspace.
  virtual void run(std::span<const hal::Binding> operands, hal::Binding workspace,
                   core::Threads& threads) const = 0;
};

// What a binding of memory of the host begins with; null if it is of none.
template <class T>
T* data_at(const hal::Binding& b) {
  return b.buffer == nullptr ? nullptr : reinterpret_cast<T*>(b.buffer->host() + b.offset);
}

}  // namespace hologram::libraries
