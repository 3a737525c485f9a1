// The OpenCL of this machine: the loader, its devices, and what its calls have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/opencl/api.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::backends::opencl {

struct Found {
  Device* id = nullptr;
  DeviceInfo info;            // `numerics` as the device promises, not as it was seen to compute
  bool cpu = false;           // the host's own processor
  bool asks_amd = false;      // it says how much memory is free
  std::string flags;          // for its compiler
  std::string few_registers;  // the same for large workgroups: so few that all lanes get some
};

// Opened when it is first asked for, and never closed. Devices are those of OpenCL 1.2 and later
// that compile programs; processors come after all others.
class Driver {
 public:
  static const Driver& instance();

  const Api& api() const { return api_; }
  const std::vector<Found>& devices() const { return devices_; }
  const std::string& reason() const { return reason_; }  // why there are none
  uint64_t free_memory(const Found& device) const;

 private:
  Driver();
  void find_devices();
  std::string take(Platform* platform, Device* id);
  std::string text(Device* id, DeviceInfoName what) const;
  template <class T>
  T number(Device* id, DeviceInfoName what) const {
    T value = {};
    api_.clGetDeviceInfo(id, what, sizeof value, &value, nullptr);
    return value;
  }

  Api api_;
  std::vector<Found> devices_;
  std::string reason_;
};

// Why no device here is hardware, from the list of installed drivers alone; empty if one may be, or
// if there is no such list.
std::string software_alone();

// "CL_OUT_OF_RESOURCES".
std::string name_of_status(int32_t status);
// Throws what a status other than success stands for.
void check(int32_t status, const char* call, const DeviceInfo& device);

// Handles are let go once, but no longer when the process is ending: the driver may be gone then.
bool is_ending();
template <class T>
struct Release {
  int32_t (*release)(T*) = nullptr;
  void operator()(T* object) const {
    if (!is_ending()) release(object);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;

}  // namespace hologram::backends::opencl
