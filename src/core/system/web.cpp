// WebAssembly: one memory, which grows.
#include <emscripten/heap.h>
#include <unistd.h>

#include "core/system/system.hpp"

namespace hologram::core::system {

const char* const* environment() { return environ; }

HostMemory memory() {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  return {.total = kMost, .free = kMost - emscripten_get_heap_size()};
}
std::string processor_name() { return {}; }

}  // namespace hologram::core::system
