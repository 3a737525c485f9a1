// Threads that take turns by themselves: each has a stack, and one runs at a time.
#pragma once

#include <cstddef>
#include <vector>

namespace hologram::emulated {

class Fibers {
 public:
  Fibers() = default;
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // So many that have yet to begin, in place of those before. `body` must not return: its last act
  // is to suspend itself. False if there is no memory for their stacks.
  bool begin(size_t count, void (*body)());
  void resume(size_t fiber);  // until it suspends itself
  void suspend();             // called by the fiber that runs

 private:
  bool reserve(size_t count);

  std::byte* stacks_ = nullptr;
  size_t capacity_ = 0;  // stacks
  size_t running_ = 0;
  std::vector<void*> contexts_;  // of each, where its registers are kept
  void* host_ = nullptr;         // of the caller of resume
};

}  // namespace hologram::emulated
