// Ctrl-C and its kin: what runs is cancelled, so that nothing half-done stays behind.
#pragma once

#include "hologram/executor.hpp"

namespace hologram::tool {

// While it lives, SIGINT, SIGTERM and SIGHUP set `progress.cancel` instead of ending the process; a
// second one ends it. One at a time.
class Interrupt {
 public:
  explicit Interrupt(Progress& progress);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static int signal();  // that came, 0 if none did
  static void check();  // Cancelled if one came
};

}  // namespace hologram::tool
