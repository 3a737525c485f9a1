// The Metal of this machine: its framework, the runtime of Objective-C, and the devices.
#pragma once

#include <string>
#include <vector>

#include "backends/metal/api.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::backends::metal {

struct Found {
  Device* device = nullptr;
  DeviceInfo info;
};

// Opened when it is first asked for, and never closed.
class Driver {
 public:
  static const Driver& instance();

  const Runtime& runtime() const { return runtime_; }
  const Messages& messages() const { return messages_; }
  const Classes& classes() const { return classes_; }
  const std::vector<Found>& devices() const { return devices_; }
  const std::string& reason() const { return reason_; }  // why there are none
  uint64_t free_memory(const Found& found) const;

 private:
  Driver();
  // Why it cannot be used; empty if it can.
  std::string open();
  void find_devices();
  void take(Device* device);
  // Some systems ask some things of no device.
  template <class R>
  R ask(Device* device, const Message<R(Device*)>& message, R otherwise) const {
    auto* const object = reinterpret_cast<Object*>(device);
    return messages_.responds(object, message.selector()) ? message(device) : otherwise;
  }
  std::string family_of(Device* device) const;
  bool has_large_groups(Device* device) const;

  Runtime runtime_;
  Messages messages_;
  Classes classes_;
  Array* (*all_devices_)() = nullptr;
  Device* (*default_device_)() = nullptr;
  std::vector<Found> devices_;
  std::string reason_;
};

}  // namespace hologram::backends::metal
