// The host program's signal handlers, kept from libraries that install their own.
#pragma once

#include <csignal>
#include <vector>

namespace hologram::core {

// Puts every handler back that was changed while this lived.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers();
  ~KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  std::vector<struct sigaction> before_;  // by number; that of 0 is not used
};

}  // namespace hologram::core
