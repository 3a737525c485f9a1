// Memory by whole pages, past the heap, which would keep it for itself.
#pragma once

#include <cstddef>

namespace hologram::core {

// Zeros that cost nothing before they are touched; null if there is no room for so many bytes (more
// than none).
void* allocate_pages(size_t bytes);
void release_pages(void* memory, size_t bytes);

// Asks for huge pages, where there are such.
void prefer_huge_pages(void* memory, size_t bytes);

}  // namespace hologram::core
