// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace hologram::core {

struct HostMemory {
  uint64_t total = 0;  // bytes
  uint64_t free = 0;   // bytes that can be had without swapping
};

// The machine's memory, or the cgroup's where that is less. Zeros where the system does not say.
HostMemory host_memory();

// The same from texts as in /proc/meminfo and in the cgroup's memory.max, memory.current and
// memory.stat; a text may be empty.
struct MemoryTexts {
  std::string meminfo, limit, used, stat;
};
HostMemory host_memory(const MemoryTexts& texts);

}  // namespace hologram::core
