// How the command fails: exit codes, and errors as text or JSON on the standard error.
#pragma once

#include <string>

#include "hologram/error.hpp"

namespace hologram::tool {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitFile = 3;
inline constexpr int kExitMemory = 6;
inline constexpr int kExitInternal = 70;

// The command line itself is wrong, as opposed to what it names.
class UsageError : public Error {
 public:
  UsageError(std::string what, std::string remedy)
      : Error(ErrorKind::InvalidArgument, std::move(what), std::move(remedy)) {}
};

int exit_code(ErrorKind kind);

// "  0  success\n  1  …": for the help.
std::string exit_code_table();

// From now on what the library logs appears on the standard error, as far as HOLOGRAM_LOG_LEVEL
// says.
void print_messages();

// Calls `action` and turns whatever it throws into a message and an exit code.
template <class F>
int guarded(bool json, F&& action);

// The same for the exception in flight.
int report_exception(bool json) noexcept;

template <class F>
int guarded(bool json, F&& action) {
  try {
    return action();
  } catch (...) {
    return report_exception(json);
  }
}

}  // namespace hologram::tool
