// Holds a library to one thread while work of ours is under way.
#pragma once

#include "libraries/cblas/api.hpp"

namespace hologram::libraries::cblas {

// The number of threads is the process's, and the host program may use the same library: one thread
// from the first `hold` on, and what was there before after the last `release`. Functions that are
// null do nothing.
void hold(GetNumThreads* get, SetNumThreads* set);
void release(SetNumThreads* set);

class OneThread {
 public:
  OneThread(GetNumThreads* get, SetNumThreads* set) : set_(set) { hold(get, set); }
  ~OneThread() { release(set_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  SetNumThreads* set_;
};

}  // namespace hologram::libraries::cblas
