#include "backends/rocm/rocm.hpp"

#include <fmt/format.h>

#include "backends/driver/device.hpp"
#include "backends/rocm/driver.hpp"

namespace hologram::backends::rocm {
namespace {

class RocmBackend final : public driver::Backend {
 public:
  RocmBackend() : Backend(kPlatform) {}

  // HIP is large, and installed on machines without an AMD GPU, too.
  std::string passed_over() override {
    const std::string step = is_named() ? "" : missing_step();
    return step.empty() ? "" : fmt::format("{} ({})", kPlatform.no_device, step);
  }

 private:
  const driver::Driver& driver() const override { return HipDriver::instance(); }
};

}  // namespace

hal::Backend& backend() {
  static RocmBackend instance;
  return instance;
}

}  // namespace hologram::backends::rocm
