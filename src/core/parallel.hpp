// Loops over several threads.
#pragma once

#include <cstdint>

#include "core/function_ref.hpp"

namespace hologram::core {

// The threads this process may use: its affinity and its cgroup's quota, at least 1.
int available_threads();

// Which end of its share of a loop each thread begins at.
enum class Direction { Forward, Backward };

// For a loop through memory: the end where this thread's last one stopped. Of what is somewhat more
// than a cache holds most is still there, and from the other end nothing would be.
Direction alternate_direction();

// part(from, to) for parts of [begin, end), all but the last of that size, in that direction.
template <class Part>
void cut(uint64_t begin, uint64_t end, uint64_t size, Direction direction, const Part& part) {
  const uint64_t count = (end - begin + size - 1) / size;
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t from = begin + (direction == Direction::Backward ? count - 1 - k : k) * size;
    part(from, from + size < end ? from + size : end);
  }
}

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
