// OpenMP loops of the library, held to the calling thread.
#pragma once

#include "libraries/onednn/api.hpp"

namespace hologram::libraries::onednn {

// One thread for OpenMP loops that the calling thread starts, as long as this lives: hologram cuts
// work for its own threads, and the host program's setting is not ours to change.
class OneThread {
 public:
  OneThread(OmpGetMaxThreads* get, OmpSetNumThreads* set) : set_(set) {
    if (set_ == nullptr) return;
    before_ = get();
    if (before_ != 1) set_(1);
  }
  ~OneThread() {
    if (set_ != nullptr && before_ != 1) set_(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  OmpSetNumThreads* set_;
  int before_ = 1;
};

}  // namespace hologram::libraries::onednn
