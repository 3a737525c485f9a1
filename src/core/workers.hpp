// The threads that take part in loops, other than those that call them.
#pragma once

#include <atomic>
#include <cstdint>

namespace hologram::core {

// ---- What a system provides -------------------------------------------------------------------

// Sees to it that there are so many workers, which call work(), where more can be made; never
// throws. Of those that are wanted, how many there can be.
void want_workers(int count) noexcept;
int possible_workers(int wanted);

// The one that the calling thread runs on, if that is known; and has it run on another one, if it
// may and has not just been told the same.
constexpr int kNoProcessor = -1;
int processor();
void leave_processor();

// A thread, if others can send it about, and whether it has lain down and not got up yet.
constexpr int kNoThread = 0;
struct Sleeper {
  std::atomic<int> thread{kNoThread};
  std::atomic<bool> asleep{false};
};
int this_thread();
// If it sleeps or waits for this processor: to another one, if it may run there.
void move_from(int thread, int processor);

// Tells the processor that the thread turns, waiting for another one.
void pause();
// Turns for a moment, then sleeps, as long as the word has this value; may return before. Whether
// it has slept.
bool wait_while(const std::atomic<uint32_t>& word, uint32_t value, Sleeper* who = nullptr);
// Wakes so many of those who wait, or more.
void wake(const std::atomic<uint32_t>& word, uint32_t count);

// ---- What parallel.cpp does with them ---------------------------------------------------------

// How many there are from now on; if none, those there were end, for good.
void set_worker_count(int count);
int worker_count();
// In a process that was forked: the workers stayed behind.
void forget_workers();
bool is_worker();  // whether the calling thread is one
// What a worker does until it is to end.
void work();
// Of a worker that ended in the midst of that, by a trap: what it was doing has failed.
void abandon_work();

// ---- Threads of a page, which JavaScript starts -----------------------------------------------
// Each has an instance of the module on the same memory and a stack of its own.

// From now on there are so many; none: they end. `may_sleep`: whether the calling thread may;
// browsers forbid it to the thread of a page, which turns instead.
void set_workers(int count, bool may_sleep);
// As wait_while, but at most so long.
constexpr int64_t kForever = -1;
void wait_while_for(const std::atomic<uint32_t>& word, uint32_t value, int64_t nanoseconds);

}  // namespace hologram::core
