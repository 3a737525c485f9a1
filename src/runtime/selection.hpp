// Which device to run on, and why.
#pragma once

#include <memory>
#include <string>

#include "hal/hal.hpp"

namespace hologram::runtime {

struct Selection {
  std::shared_ptr<hal::Device> device;
  std::string why;
};

// BackendUnavailable if nothing that the config allows is there.
Selection select(const BackendConfig& config);

// "auto, cuda, …": what HOLOGRAM_BACKEND may say.
std::string backend_names();

}  // namespace hologram::runtime
