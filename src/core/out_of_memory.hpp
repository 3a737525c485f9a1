// Host memory that runs out in the middle of work is told by an Error like any other.
#pragma once

#include <new>

#include "core/messages.hpp"

namespace hologram::core {

// Calls `work`; an OutOfMemory Error takes the place of std::bad_alloc.
template <class Work>
decltype(auto) or_out_of_memory(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw error(Text::HostMemory);
  }
}

}  // namespace hologram::core
