// Which device to run on, and why.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "hal/hal.hpp"

namespace hologram::runtime {

struct Selection {
  std::shared_ptr<hal::Device> device;
  std::string why;
};

// BackendUnavailable if nothing that the config allows is there, OutOfMemory if nothing there has
// so many bytes free; both say what each candidate lacks. InvalidConfig for a bad value.
Selection select(const BackendConfig& config, uint64_t bytes = 0);

// The devices of a backend, or why there are none. Never throws.
hal::Expected<std::vector<DeviceInfo>> devices_of(const backends::Entry& entry);

// The backends, in the order of automatic choice with those at the end that must be named.
std::vector<const backends::Entry*> entries_in_order();
// Of these, those that may be chosen without being named.
std::vector<const backends::Entry*> automatic_entries();

// Every type, Auto first.
std::span<const BackendType> backend_types();

}  // namespace hologram::runtime
