// The one exception type of hologram.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "hologram/export.hpp"

namespace hologram {

enum class ErrorKind {
  BackendUnavailable,    // the backend or device asked for is not there
  OutOfMemory,           // an allocation did not fit, also after giving back what was cached
  Timeout,               // a deadline passed
  ShapeMismatch,         // shapes, lengths or ranks do not go together
  DTypeMismatch,         // element types do not go together
  UnsupportedOperation,  // valid, but not on this device or in this build
  InvalidProgram,        // a kernel that does not parse or verify
  InvalidArgument,       // an argument is missing, unknown, or out of its range
  InvalidConfig,         // a bad value in a configuration file, the environment or the code
  Cancelled,             // the caller cancelled it
  DeviceLost,            // the device stopped answering; its executor cannot be used any more
  IoError,               // a file could not be read or written
  Internal,              // a defect of hologram itself
};

HOLOGRAM_API std::string_view name_of(ErrorKind kind);

// what() says what happened and where; remedy() says what to do about it. Both are whole sentences
// meant for the user of the program. Nothing else is ever thrown by hologram, but for
// std::bad_alloc where a call that only builds something (a program, a lazy tensor, a vector of
// yours) finds no memory of the host; work on tensors (computing, reading, assigning, launching)
// says OutOfMemory then, too. Either way all values are what they were, and the same call may
// succeed later.
class HOLOGRAM_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what, std::string remedy);
  ErrorKind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  ErrorKind kind_;
  std::string what_;
  std::string remedy_;
};

}  // namespace hologram
