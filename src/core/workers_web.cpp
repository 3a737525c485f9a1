// Workers of the build for the web: JavaScript starts them, and they wait in the memory that they
// share. Without them, as in the module that shares no memory, loops run on the calling thread.
#include <algorithm>

#include "core/parallel.hpp"
#include "core/workers.hpp"

namespace hologram::core {
namespace {

thread_local bool t_may_sleep = false;

}  // namespace

int available_threads() { return 1 + worker_count(); }
int possible_workers(int wanted) { return std::min(wanted, worker_count()); }
void want_workers(int /*count*/) noexcept {}

void set_workers(int count, bool may_sleep) {
  t_may_sleep = may_sleep;
  set_worker_count(count);
}

int processor() { return kNoProcessor; }
void leave_processor() {}
int this_thread() { return kNoThread; }
void move_from(int /*thread*/, int /*processor*/) {}
void pause() {}

bool wait_while(const std::atomic<uint32_t>& word, uint32_t value, Sleeper* /*who*/) {
  wait_while_for(word, value, kForever);
  return true;
}

void wait_while_for(const std::atomic<uint32_t>& word, uint32_t value, int64_t nanoseconds) {
  // Some microseconds: what is waited for comes soon, or not for long.
  constexpr int kTurns = 10'000;
  for (int i = 0; i < kTurns; i++)
    if (word.load(std::memory_order_acquire) != value) return;
  if (!t_may_sleep && !is_worker()) return;
  // The builtin function takes an int* that it does not write to.
  auto* const at = reinterpret_cast<int*>(const_cast<std::atomic<uint32_t>*>(&word));
  __builtin_wasm_memory_atomic_wait32(at, static_cast<int>(value), nanoseconds);
}

void wake(const std::atomic<uint32_t>& word, uint32_t count) {
  auto* const at = reinterpret_cast<int*>(const_cast<std::atomic<uint32_t>*>(&word));
  __builtin_wasm_memory_atomic_notify(at, count);
}

}  // namespace hologram::core
