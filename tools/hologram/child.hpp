// This command again, in a process of its own: whatever a driver does to it, the caller goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hologram::tool {

struct Child {
  std::vector<std::string> arguments;                            // after the program's own name
  std::vector<std::pair<std::string, std::string>> environment;  // beside what this process has
  int limit_s = 0;  // the process is killed after so long; 0: never
};

struct ExitStatus {
  std::string out, err;  // what it wrote; of err the end only
  int code = 0;          // of exit, where there was no signal
  int signal = 0;        // that ended it
  bool timed_out = false;
  double seconds = 0;

  // "exit code 0", "ended by signal 11 (Segmentation fault)", "stopped after 600 s".
  std::string text() const;
};

// Starts it and waits for its end. IoError if it cannot be started.
ExitStatus run(const Child& child);

}  // namespace hologram::tool
