// In place of oneTBB, in the build for the web: loops over workers that share its memory. Without
// workers, as in the module that shares no memory, they run on the calling thread.
#include <algorithm>
#include <exception>

#include "core/messages.hpp"
#include "core/parallel.hpp"
#include "core/workers.hpp"

namespace hologram::core {
namespace {

// A loop under way, on the stack of its caller.
class Loop {
 public:
  Loop(FunctionRef<void(uint64_t, uint64_t)> body, uint64_t n, uint64_t size)
      : body_(body), n_(n), size_(size), pieces_((n + size - 1) / size) {}

  uint64_t pieces() const { return pieces_; }

  // Does pieces until there are none left.
  void help() noexcept {
    try {
      for (uint64_t p = next_++; p < pieces_; p = next_++)
        body_(p * size_, std::min(n_, (p + 1) * size_));
    } catch (...) {
      fail(std::current_exception());
    }
  }
  // The first failure is kept, and no more pieces are begun.
  void fail(std::exception_ptr failure) noexcept {
    next_ = pieces_;
    if (!failed_.exchange(true)) failure_ = std::move(failure);
  }
  // When nobody helps any more.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const FunctionRef<void(uint64_t, uint64_t)> body_;
  const uint64_t n_, size_, pieces_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

// The one loop that workers take part in. Its door says in one word whether it is open, how many
// may be inside at a time, and how many are, so that who enters knows that all of it still holds.
constexpr uint32_t kOpen = 1u << 31, kInside = 0xffff, kPlace = 1u << 16, kMostPlaces = 0x7fff;

std::atomic<uint32_t> g_door{0};
Loop* g_loop = nullptr;            // as long as the door is open or somebody is inside
std::atomic<bool> g_taken{false};  // there is such a loop
std::atomic<uint32_t> g_calls{0};  // how often workers were called: what they sleep on
std::atomic<int> g_workers{0};
std::atomic<bool> g_ended{false};
thread_local bool t_may_sleep = false;
thread_local bool t_inside = false;

uint32_t places(uint32_t door) { return (door & ~kOpen) / kPlace; }

void leave() {
  t_inside = false;
  // The last one out of a closed door wakes the caller.
  const uint32_t door = g_door.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((door & kOpen) == 0 && (door & kInside) == 0) wake(g_door, 1);
}

void help_if_wanted() {
  uint32_t door = g_door.load(std::memory_order_acquire);
  while ((door & kOpen) != 0 && (door & kInside) < places(door)) {
    if (!g_door.compare_exchange_weak(door, door + 1, std::memory_order_acq_rel)) continue;
    t_inside = true;
    g_loop->help();
    leave();
    return;
  }
}

void call_workers(uint32_t count) {
  g_calls.fetch_add(1, std::memory_order_release);
  wake(g_calls, count);
}

}  // namespace

void set_workers(int count, bool may_sleep) {
  t_may_sleep = may_sleep;
  g_workers = count;
  if (count > 0) return;
  g_ended = true;
  call_workers(UINT32_MAX);
}

void work() {
  t_may_sleep = true;
  while (true) {
    const uint32_t calls = g_calls.load(std::memory_order_acquire);
    if (g_ended) return;
    help_if_wanted();
    wait_while(g_calls, calls);
  }
}

void abandon_work() {
  if (!t_inside) return;
  g_loop->fail(std::make_exception_ptr(error(Text::InternalError, "a thread ended by itself")));
  leave();
}

void wait_while(const std::atomic<uint32_t>& word, uint32_t value, int64_t nanoseconds) {
  // Some microseconds: what is waited for comes soon, or not for long.
  constexpr int kTurns = 10'000;
  for (int i = 0; i < kTurns; i++)
    if (word.load(std::memory_order_acquire) != value) return;
  if (!t_may_sleep) return;
  // The builtin function takes an int* that it does not write to.
  auto* const at = reinterpret_cast<int*>(const_cast<std::atomic<uint32_t>*>(&word));
  __builtin_wasm_memory_atomic_wait32(at, static_cast<int>(value), nanoseconds);
}

void wake(const std::atomic<uint32_t>& word, uint32_t count) {
  auto* const at = reinterpret_cast<int*>(const_cast<std::atomic<uint32_t>*>(&word));
  __builtin_wasm_memory_atomic_notify(at, count);
}

int available_threads() { return 1 + g_workers; }

struct Threads::Arena {};

Threads::Threads(int count)
    : count_(count > 0 ? std::min(count, available_threads()) : available_threads()) {}
Threads::~Threads() = default;

void Threads::run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body) {
  if (n == 0) return;
  const uint64_t parts = static_cast<uint64_t>(count_) * 4;
  const uint64_t size = std::max<uint64_t>(std::max<uint64_t>(grain, 1), (n + parts - 1) / parts);
  // A loop within a part of a loop has no workers.
  if (count_ == 1 || n <= size || g_taken.exchange(true)) {
    body(0, n);
    return;
  }
  Loop loop(body, n, size);
  g_loop = &loop;
  const auto helpers = static_cast<uint32_t>(
      std::min<uint64_t>({static_cast<uint64_t>(count_) - 1, loop.pieces() - 1, kMostPlaces}));
  g_door.store(kOpen | helpers * kPlace, std::memory_order_release);
  call_workers(helpers);
  loop.help();
  uint32_t door = g_door.fetch_and(kInside, std::memory_order_acq_rel) & kInside;
  while (door != 0) {
    wait_while(g_door, door);
    door = g_door.load(std::memory_order_acquire);
  }
  g_taken = false;
  loop.rethrow();
}

}  // namespace hologram::core
