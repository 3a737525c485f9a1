// The part of POSIX threads that the C and C++ libraries stand on: locks, conditions, variables of
// a thread. Those of Emscripten expect its JavaScript and threads that it made itself.
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <time.h>

#include <atomic>

#include "core/parallel.hpp"
#include "core/workers.hpp"

namespace {

using hologram::core::kForever;
using hologram::core::wait_while;
using hologram::core::wait_while_for;
using hologram::core::wake;
using Word = std::atomic<uint32_t>;

// Both types begin with words that are 0 when they are new.
Word& word_of(pthread_mutex_t* mutex) { return *reinterpret_cast<Word*>(mutex); }
Word& word_of(pthread_cond_t* condition) { return *reinterpret_cast<Word*>(condition); }

enum : uint32_t { kFree, kLocked, kAwaited };

void lock(Word& word) {
  uint32_t state = kFree;
  if (word.compare_exchange_strong(state, kLocked, std::memory_order_acquire)) return;
  while (word.exchange(kAwaited, std::memory_order_acquire) != kFree) wait_while(word, kAwaited);
}

void unlock(Word& word) {
  if (word.exchange(kFree, std::memory_order_release) == kAwaited) wake(word, 1);
}

void wait(pthread_cond_t* condition, pthread_mutex_t* mutex, int64_t nanoseconds) {
  Word& changes = word_of(condition);
  const uint32_t seen = changes.load(std::memory_order_acquire);
  unlock(word_of(mutex));
  wait_while_for(changes, seen, nanoseconds);
  lock(word_of(mutex));
}

constexpr pthread_key_t kKeys = 16;
std::atomic<pthread_key_t> g_keys{0};
thread_local const void* t_values[kKeys];

// What the C library keeps of a thread: errno and the like. It is 0 when the thread is new, but for
// the locale.
constexpr size_t kMostBytes = 256;
alignas(16) thread_local char t_self[kMostBytes];
thread_local bool t_named = false;

void* self() {
  if (!t_named) {
    t_named = true;  // before it is asked again by uselocale
    uselocale(LC_GLOBAL_LOCALE);
  }
  return t_self;
}

}  // namespace

extern "C" {

int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* /*attributes*/) {
  *mutex = PTHREAD_MUTEX_INITIALIZER;
  return 0;
}
int pthread_mutex_destroy(pthread_mutex_t* /*mutex*/) { return 0; }
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  lock(word_of(mutex));
  return 0;
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  uint32_t state = kFree;
  const bool taken =
      word_of(mutex).compare_exchange_strong(state, kLocked, std::memory_order_acquire);
  return taken ? 0 : EBUSY;
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  unlock(word_of(mutex));
  return 0;
}
// Locks that one thread may take twice are not here.
int pthread_mutexattr_init(pthread_mutexattr_t* /*attributes*/) { return 0; }
int pthread_mutexattr_destroy(pthread_mutexattr_t* /*attributes*/) { return 0; }
int pthread_mutexattr_settype(pthread_mutexattr_t* /*attributes*/, int type) {
  return type == PTHREAD_MUTEX_NORMAL ? 0 : ENOTSUP;
}

int pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t* /*attributes*/) {
  *condition = PTHREAD_COND_INITIALIZER;
  return 0;
}
int pthread_cond_destroy(pthread_cond_t* /*condition*/) { return 0; }
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  wait(condition, mutex, kForever);
  return 0;
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t left =
      (until->tv_sec - now.tv_sec) * int64_t{1'000'000'000} + until->tv_nsec - now.tv_nsec;
  if (left <= 0) return ETIMEDOUT;
  wait(condition, mutex, left);
  return 0;
}
int pthread_cond_signal(pthread_cond_t* condition) {
  word_of(condition).fetch_add(1, std::memory_order_release);
  wake(word_of(condition), 1);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) {
  word_of(condition).fetch_add(1, std::memory_order_release);
  wake(word_of(condition), UINT32_MAX);
  return 0;
}

int pthread_once(pthread_once_t* once, void (*body)()) {
  enum : uint32_t { kNew, kBegun, kDone };
  auto& state = *reinterpret_cast<Word*>(once);
  uint32_t seen = kNew;
  if (state.compare_exchange_strong(seen, kBegun, std::memory_order_acq_rel)) {
    body();
    state.store(kDone, std::memory_order_release);
    wake(state, UINT32_MAX);
  }
  while (state.load(std::memory_order_acquire) != kDone) wait_while(state, kBegun);
  return 0;
}

// Workers end with their memory: destructors would have nothing to free.
int pthread_key_create(pthread_key_t* key, void (* /*destructor*/)(void*)) {
  *key = g_keys++;
  return *key < kKeys ? 0 : EAGAIN;
}
int pthread_key_delete(pthread_key_t /*key*/) { return 0; }
void* pthread_getspecific(pthread_key_t key) { return const_cast<void*>(t_values[key]); }
int pthread_setspecific(pthread_key_t key, const void* value) {
  t_values[key] = value;
  return 0;
}

uintptr_t __get_tp() { return reinterpret_cast<uintptr_t>(self()); }
pthread_t pthread_self() { return reinterpret_cast<pthread_t>(self()); }

// Nobody makes threads here, so that there are none to join.
int pthread_create(pthread_t* /*thread*/, const pthread_attr_t* /*attributes*/,
                   void* (* /*body*/)(void*), void* /*argument*/) {
  return EAGAIN;
}
int pthread_join(pthread_t /*thread*/, void** /*result*/) { return ESRCH; }
int pthread_detach(pthread_t /*thread*/) { return ESRCH; }
int emscripten_num_logical_cores() { return hologram::core::available_threads(); }
int sched_yield() { return 0; }

// What the C library's own locks and pauses are made of.
int emscripten_is_main_runtime_thread() { return 0; }  // which would have messages to look after
int emscripten_futex_wait(volatile void* word, uint32_t value, double milliseconds) {
  const bool forever = milliseconds > 1e12;
  wait_while_for(*static_cast<Word*>(const_cast<void*>(word)), value,
                 forever ? kForever : static_cast<int64_t>(milliseconds * 1e6));
  return 0;
}
int emscripten_futex_wake(volatile void* word, int count) {
  wake(*static_cast<Word*>(const_cast<void*>(word)), static_cast<uint32_t>(count));
  return 0;
}
void emscripten_thread_sleep(double milliseconds) {
  const Word never{0};
  timespec now{}, until{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  do {
    wait_while_for(never, 0, static_cast<int64_t>(milliseconds * 1e6));
    clock_gettime(CLOCK_MONOTONIC, &until);
  } while (static_cast<double>(until.tv_sec - now.tv_sec) * 1e3 +
               static_cast<double>(until.tv_nsec - now.tv_nsec) * 1e-6 <
           milliseconds);
}

}  // extern "C"
