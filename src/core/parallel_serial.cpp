// In place of oneTBB, where there is one thread.
#include "core/parallel.hpp"

namespace hologram::core {

int available_threads() { return 1; }

struct Threads::Arena {};

Threads::Threads(int /*count*/) : count_(1) {}
Threads::~Threads() = default;

void Threads::run(uint64_t n, uint64_t /*grain*/, FunctionRef<void(uint64_t, uint64_t)> body) {
  if (n > 0) body(0, n);
}

}  // namespace hologram::core
