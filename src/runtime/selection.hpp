// Which device to run on, and why.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "hologram/hal/device.hpp"

namespace hologram::runtime {

struct Selection {
  std::shared_ptr<hal::Device> device;
  std::string why;
};

// The backends in the order of automatic choice, those at the end that must be named. What
// set_backend_priority was told to put first need not be named.
std::vector<backends::Entry> entries_in_order();

// BackendUnavailable if nothing that the config allows is there, OutOfMemory if nothing there has
// so many bytes free; both say what each candidate lacks. InvalidConfig for a bad value.
Selection select(const BackendConfig& config, uint64_t bytes = 0,
                 std::span<const backends::Entry> entries = entries_in_order());

// The device of the application's own context and stream; a backend that is not named is CUDA.
Selection select_native(const BackendConfig& config, void* context, void* stream);

// A device in the context that the process has, with the application's stream.
Selection select_on_stream(const BackendConfig& config, void* stream);

// The devices of a backend, or why there are none. Never throws.
hal::Expected<std::vector<DeviceInfo>> devices_of(const backends::Entry& entry);

// The first entry with a device that need not be named, or why there is none.
hal::Expected<BackendType> best_of(std::span<const backends::Entry> entries);

// Every type, Auto first, those that were registered last.
std::vector<BackendType> backend_types();

}  // namespace hologram::runtime
