#include "core/pages.hpp"

#ifdef __EMSCRIPTEN__

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace hologram::core {

// WebAssembly has one memory and no pages of its own in it. (Emscripten's mmap of lengths that are
// no multiple of 16 gives back what it did not take.)
void* allocate_pages(size_t bytes) {
  constexpr size_t kLine = 64;
  if (bytes > SIZE_MAX - kLine) return nullptr;
  const size_t whole = (bytes + kLine - 1) / kLine * kLine;
  void* memory = std::aligned_alloc(kLine, whole);
  if (memory != nullptr) std::memset(memory, 0, whole);
  return memory;
}
void release_pages(void* memory, size_t /*bytes*/) { std::free(memory); }
void prefer_huge_pages(void* /*memory*/, size_t /*bytes*/) {}

}  // namespace hologram::core

#else

#include <sys/mman.h>

namespace hologram::core {

void* allocate_pages(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
void release_pages(void* memory, size_t bytes) { munmap(memory, bytes); }
void prefer_huge_pages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

}  // namespace hologram::core

#endif
