// Workers that are threads of the process. They are made when a loop first wants them, sleep when
// there is none, and are there until the process ends.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <mutex>
#include <thread>

#include "core/parallel.hpp"
#include "core/system/system.hpp"
#include "core/workers.hpp"

namespace hologram::core {
namespace {

std::mutex g_making;  // of workers; and who moves one holds it, so that no other does

// A process that is forked has the thread that did it, and makes workers of its own.
void mind_forks() {
  pthread_atfork([] { g_making.lock(); }, [] { g_making.unlock(); },
                 [] {
                   g_making.unlock();
                   forget_workers();
                 });
}

}  // namespace

int available_threads() {
  int count = system::allowed_processors();
  if (count <= 0) count = static_cast<int>(std::thread::hardware_concurrency());
  if (const double quota = system::processor_quota(); quota > 0)
    count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(1, count);
}

int possible_workers(int wanted) { return wanted; }

// Signals are for the threads of the application.
void want_workers(int count) noexcept {
  static bool failed = false;
  static std::once_flag once;
  std::call_once(once, mind_forks);
  const std::lock_guard lock(g_making);
  if (failed) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int there = worker_count(); there < count; there++) {
      std::thread worker(work);
      system::name_thread(worker.native_handle(), "hologram");
      worker.detach();
      set_worker_count(there + 1);
    }
  } catch (const std::exception&) {
    failed = true;  // loops go on with those there are
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

int processor() { return system::processor(); }

namespace {

void send_off(int thread, int processor) {
  // Two that did so at a time would leave it without the processors of both.
  const std::unique_lock lock(g_making, std::try_to_lock);
  if (lock) system::send_off(thread, processor);
}

}  // namespace

void leave_processor() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point t_last;
  const int here = processor();
  const Clock::time_point now = Clock::now();
  if (here == kNoProcessor || now - t_last < std::chrono::milliseconds(1)) return;
  t_last = now;
  send_off(0, here);
}

int this_thread() { return system::this_thread(); }

void move_from(int thread, int processor) {
  if (thread != kNoThread) send_off(thread, processor);
}

// To sleep and be woken takes as long as a short loop: what is waited for often comes sooner.
bool wait_while(const std::atomic<uint32_t>& word, uint32_t value, Sleeper* who) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMoment = std::chrono::microseconds(50);
  constexpr int kTurns = 32;  // between looks at the clock
  const auto end = Clock::now() + kMoment;
  do {
    for (int i = 0; i < kTurns; i++) {
      if (word.load(std::memory_order_acquire) != value) return false;
      pause();
    }
  } while (Clock::now() < end);
  if (who != nullptr) who->asleep.store(true, std::memory_order_seq_cst);
  word.wait(value, std::memory_order_acquire);
  if (who != nullptr) who->asleep.store(false, std::memory_order_relaxed);
  return true;
}

void wake(const std::atomic<uint32_t>& word, uint32_t count) {
  auto& waited_for = const_cast<std::atomic<uint32_t>&>(word);
  constexpr uint32_t kFew = 4;
  if (count >= kFew) return waited_for.notify_all();
  for (uint32_t k = 0; k < count; k++) waited_for.notify_one();
}

}  // namespace hologram::core
