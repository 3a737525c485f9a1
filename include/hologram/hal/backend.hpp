// One way to devices: a driver, or the processor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hologram/config.hpp"
#include "hologram/device.hpp"
#include "hologram/hal/device.hpp"
#include "hologram/hal/expected.hpp"

namespace hologram::hal {

// One a folder, listed in backends/registry.cpp.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendType type() const = 0;
  virtual Expected<std::vector<DeviceInfo>> discover() = 0;
  // Why none of its devices would be chosen unless it is named, if that is known without loading a
  // driver, which may be large; empty if not.
  virtual std::string skip_reason() { return {}; }
  virtual Expected<std::shared_ptr<Device>> open(int index, const BackendConfig& config) = 0;
  // The device of a context that the application has, with its stream as the only one.
  virtual Expected<std::shared_ptr<Device>> adopt(void*, void*, const BackendConfig&) {
    return Refusal{"it has no contexts that an application could share"};
  }
  // A device in the context that the process has, with a stream of the application's as the only
  // one.
  virtual Expected<std::shared_ptr<Device>> open_on(int, void*, const BackendConfig&) {
    return Refusal{"it has no streams that an application could share"};
  }
  // The libraries that its devices may use. Opens them.
  virtual std::vector<LibraryInfo> libraries() { return {}; }
};

}  // namespace hologram::hal
