// The same calculations as plain C++, compiled for this very machine twice: by a compiler that was
// told to prefer vectors of 256 bits, and of 512.
#pragma once

#include "loops.hpp"

#define PLAIN_LOOPS(name) \
  namespace name {        \
  using loops::Loop;      \
  Loop add();             \
  Loop fma();             \
  Loop sigmoid();         \
  Loop twelve();          \
  Loop gelu();            \
  Loop exp();             \
  Loop sum();             \
  Loop dot();             \
  Loop row_sums();        \
  Loop softmax();         \
  Loop layer_norm();      \
  }
PLAIN_LOOPS(plain256)
PLAIN_LOOPS(plain512)
#undef PLAIN_LOOPS
