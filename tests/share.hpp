// Of tests that go through many cases: all of them, or one in HOLOGRAM_TEST_EVERY where each takes
// long, as under sanitizers.
#pragma once

#include <cstdlib>

namespace hologram::tests {

class Share {
 public:
  Share() {
    if (const char* every = std::getenv("HOLOGRAM_TEST_EVERY"))
      every_ = std::strtoul(every, nullptr, 10);
    if (every_ == 0) every_ = 1;
  }

  bool all() const { return every_ == 1; }
  // Whether the next case is tried; the first one always is.
  bool next() { return number_++ % every_ == 0; }

 private:
  unsigned long every_ = 1, number_ = 0;
};

}  // namespace hologram::tests
