// What compiles programs at run time for the driver of a GPU: NVRTC, hipRTC.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hologram/hal/expected.hpp"

namespace hologram::libraries {

using Compilation = struct CompilationHandle*;  // nvrtcProgram, hiprtcProgram

// What they have in common. Every function returns a status, 0 if all went well.
struct CompilerFunctions {
  int (*create)(Compilation* made, const char* text, const char* name, int headers,
                const char* const* texts, const char* const* names) = nullptr;
  int (*destroy)(Compilation* compilation) = nullptr;
  int (*compile)(Compilation compilation, int count, const char* const* options) = nullptr;
  int (*log_size)(Compilation compilation, size_t* bytes) = nullptr;
  int (*log)(Compilation compilation, char* text) = nullptr;
  int (*code_size)(Compilation compilation, size_t* bytes) = nullptr;
  int (*code)(Compilation compilation, char* bytes) = nullptr;
};

// Thread-safe. Opened once, and open for the life of the process. It needs no device.
class RuntimeCompiler {
 public:
  virtual ~RuntimeCompiler() = default;
  RuntimeCompiler(const RuntimeCompiler&) = delete;
  RuntimeCompiler& operator=(const RuntimeCompiler&) = delete;

  const char* name() const { return name_; }
  const std::string& reason() const { return reason_; }  // why there is none; empty: there is
  const std::string& version() const { return version_; }

  // Machine code, or the first lines of what the compiler wrote instead.
  virtual hal::Expected<std::vector<std::byte>> compile(
      const std::string& text, const std::string& architecture,
      const std::vector<std::string>& flags) const = 0;

 protected:
  explicit RuntimeCompiler(const char* name) : name_(name) {}
  hal::Expected<std::vector<std::byte>> compile(const CompilerFunctions& functions,
                                                const std::string& text, const std::string& target,
                                                const std::vector<std::string>& flags) const;

  std::string reason_, version_;

 private:
  const char* const name_;
};

}  // namespace hologram::libraries
