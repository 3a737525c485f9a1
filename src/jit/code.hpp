// Memory for compiled code: written first, executable then, never both.
#pragma once

#include <asmjit/core.h>

#include <cstddef>

namespace hologram::jit {

class Code {
 public:
  // Takes what `holder` holds. Throws Refused if there is no memory for it.
  explicit Code(asmjit::CodeHolder& holder);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const void* entry() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0, mapped_ = 0;
};

}  // namespace hologram::jit
