// Compiles printed CUDA with NVRTC, which needs no GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialects/dialect.hpp"

namespace hologram::dialects {

class Nvrtc {
 public:
  // Null with the reason why there is none. It is looked for in HOLOGRAM_NVRTC, a path, where
  // scripts/offline-compilers puts it, and where the system has libraries.
  static Nvrtc* get(std::string& reason);

  // What the compiler says of the text for an architecture, as in "sm_80"; empty if nothing.
  // `report` gets what the assembler says of registers and spills.
  std::string compile(const Printed& printed, std::string_view architecture, std::string& report);

 private:
  struct Api;
  std::unique_ptr<Api> api_;
};

}  // namespace hologram::dialects
