// Loops over several threads.
#pragma once

#include <cstdint>
#include <memory>

#include "core/function_ref.hpp"

namespace hologram::core {

// The threads this process may use: its affinity and its cgroup's quota, at least 1.
int available_threads();

// A fixed number of threads to run loops on; shares the process-wide workers of oneTBB.
class Threads {
 public:
  explicit Threads(int count);  // 0: available_threads()
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }

  // Calls body(begin, end) for parts of [0, n) that are at least `grain` long where n allows, some
  // four a thread, so that a busy core does not hold up the rest. The first exception ends the loop
  // and is rethrown. Runs here and now if one part or one thread is all there is.
  void run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body);

 private:
  struct Arena;
  class Arenas;
  // In builds with the thread sanitizer.
  void run_on_plain_threads(uint64_t pieces, FunctionRef<void(uint64_t)> piece) const;

  int count_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace hologram::core
