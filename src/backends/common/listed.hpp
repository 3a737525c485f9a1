// What backends have in common whose drivers list their devices before one of them is opened.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/hal/backend.hpp"

namespace hologram::backends::common {

// Unless the device has all dtypes that the program computes with and stores.
std::optional<hal::Refusal> refuses_dtypes(const DeviceInfo& info, const program::Program& program);

// Unless there is such a device, and one of these can do what the configuration asks for.
// `no_devices`: the driver's reason where it lists none.
std::optional<hal::Refusal> refuses_index(size_t devices, const std::string& no_devices, int index,
                                          const BackendConfig& config);

// "it does not work", and what it said.
hal::Refusal broken(const DeviceInfo& info, const Error& error);

// One of those that a driver has found. `make` gives a std::shared_ptr of a device, or throws.
template <class Found, class Make>
hal::Expected<std::shared_ptr<hal::Device>> open_listed(const std::vector<Found>& found,
                                                        const std::string& no_devices, int index,
                                                        const BackendConfig& config,
                                                        const Make& make) {
  if (auto refusal = refuses_index(found.size(), no_devices, index, config))
    return *std::move(refusal);
  const Found& one = found[static_cast<size_t>(index)];
  try {
    return std::shared_ptr<hal::Device>(make(one));
  } catch (const Error& error) {
    return broken(one.info, error);
  }
}

// All of them; `describe` gives the DeviceInfo of one as it is now.
template <class Found, class Describe>
hal::Expected<std::vector<DeviceInfo>> discover_listed(const std::vector<Found>& found,
                                                       const std::string& no_devices,
                                                       const Describe& describe) {
  if (found.empty()) return hal::Refusal{no_devices};
  std::vector<DeviceInfo> infos;
  infos.reserve(found.size());
  for (const Found& one : found) infos.push_back(describe(one));
  return infos;
}

}  // namespace hologram::backends::common
