// Waiting for a condition.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hologram::core {

// As changed.wait(lock, until), a symbol of which GCC 12 takes the version of its own libstdc++:
// with it the library would not load beside the libstdc++ of GCC 11, as RHEL 9 and manylinux_2_34
// have it. Waiting with a limit is compiled into the caller.
template <typename Until>
void wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Until until) {
  while (!changed.wait_for(lock, std::chrono::hours(1), until)) continue;
}

}  // namespace hologram::core
