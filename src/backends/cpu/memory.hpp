// Memory of the host for slabs.
#pragma once

#include <memory>

#include "hologram/hal/buffer.hpp"

namespace hologram::backends::cpu {

// At least page-aligned, in huge pages where it is large and the system has them: a first write
// then faults once in 2 MiB instead of once in 4 KiB. Given back to the system when released, at
// once. Throws std::bad_alloc.
std::unique_ptr<hal::Buffer> allocate_memory(uint64_t bytes);

}  // namespace hologram::backends::cpu
