// The compiler of HIP C++ that the machine has.
#pragma once

#include <string>
#include <vector>

#include "libraries/hiprtc/api.hpp"

namespace hologram::libraries::hiprtc {

class Hiprtc final : public RuntimeCompiler {
 public:
  // From where HOLOGRAM_HIPRTC_LIBRARY says, or that of HIP `hip_version`, as hipDriverGetVersion
  // counts: as the system finds it, or in ROCm's own folder. Only the first call's number counts.
  static const Hiprtc& instance(int hip_version);

  // For "gfx90a:sramecc+:xnack-".
  hal::Expected<std::vector<std::byte>> compile(
      const std::string& text, const std::string& architecture,
      const std::vector<std::string>& flags) const override;

 private:
  Hiprtc(int hip_version);

  CompilerFunctions functions_;
};

}  // namespace hologram::libraries::hiprtc
