// NVRTC and hipRTC, which need no GPU: the compilers that printed CUDA and HIP meet.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialects/dialect.hpp"

namespace hologram::dialects {

class RuntimeCompiler {
 public:
  // That of CUDA or HIP; null with the reason why there is none. NVRTC is looked for in
  // HOLOGRAM_NVRTC, a path, where scripts/offline-compilers puts it, and where the system has
  // libraries; hipRTC there.
  static RuntimeCompiler* get(Language language, std::string& reason);

  // What the compiler says of the text for an architecture, as in "sm_80" or "gfx90a"; empty if
  // nothing. `report` gets what CUDA's assembler says of registers and spills.
  std::string compile(const Printed& printed, std::string_view architecture, std::string& report);

 private:
  struct Api;
  Language language_ = Language::Cuda;
  std::shared_ptr<Api> api_;
};

}  // namespace hologram::dialects
