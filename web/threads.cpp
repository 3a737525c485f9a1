// What only the module with threads has: what JavaScript calls to make workers of its instances.
#include <emscripten/emscripten.h>

#include <cstdint>
#include <cstdlib>

#include "core/workers.hpp"

namespace {

// The interpreter and the kernels below it keep what is large on the heap.
constexpr size_t kStack = size_t{2} << 20;
constexpr size_t kAlignment = 64;

size_t up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

extern "C" {

// Memory of a worker: where its stack begins, which grows down, and its thread-local variables lie,
// above the stack; 0 if there is none. It stays until the whole memory goes.
EMSCRIPTEN_KEEPALIVE uintptr_t hg_thread_memory() {
  void* const stack = std::aligned_alloc(kAlignment, kStack + up(__builtin_wasm_tls_size()));
  return stack == nullptr ? 0 : reinterpret_cast<uintptr_t>(stack) + kStack;
}

// So many workers are ready; none: those there are end. may_sleep: whether the caller's thread may.
EMSCRIPTEN_KEEPALIVE void hg_threads(int workers, int may_sleep) {
  hologram::core::set_workers(workers, may_sleep != 0);
}

// Of a worker, once its instance has its stack and its variables: returns when it is to end.
EMSCRIPTEN_KEEPALIVE void hg_work() { hologram::core::work(); }
// Of a worker whose hg_work did not return.
EMSCRIPTEN_KEEPALIVE void hg_work_failed() { hologram::core::abandon_work(); }

}  // extern "C"
