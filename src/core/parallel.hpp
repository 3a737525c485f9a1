// Loops over several threads.
#pragma once

#include <cstdint>

#include "core/function_ref.hpp"

namespace hologram::core {

// The threads this process may use: its affinity and its cgroup's quota, at least 1.
int available_threads();

// Which end of its share of a loop each thread begins at.
enum class Direction { Forward, Backward };

// A fixed number of threads to run loops on: the one that calls, and workers, which all of the
// process's loops share.
class Threads {
 public:
  explicit Threads(int count);  // 0: available_threads()
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }

  // Calls body(begin, end) for equal parts of [0, n), about `grain` long at least, some four a
  // thread, of long loops sixteen, so that a busy core does not hold up the rest. A loop over as
  // many parts as the last one has them done by the same threads, as far as none is held up. The
  // first exception ends the loop and is rethrown. Runs here and now if one part or one thread is
  // all there is.
  void run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body,
           Direction direction = Direction::Forward);

 private:
  const int count_;
};

}  // namespace hologram::core
