// The threads of the build for the web: workers that JavaScript starts, each with an instance of
// the module on the same memory and a stack of its own. What waits here waits in that memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace hologram::core {

// From now on so many workers take part in loops; none: those that there are end, for good.
// `may_sleep`: whether the calling thread may; browsers forbid it to the thread of a page, which
// turns instead.
void set_workers(int count, bool may_sleep);

// What a worker does until it is to end.
void work();
// Of a worker that ended in the midst of that, by a trap: what it was doing has failed.
void abandon_work();

// Waits as long as the word has this value, at most so long; may return before.
constexpr int64_t kForever = -1;
void wait_while(const std::atomic<uint32_t>& word, uint32_t value, int64_t nanoseconds = kForever);
// Wakes at most so many of those who wait.
void wake(const std::atomic<uint32_t>& word, uint32_t count);

}  // namespace hologram::core
