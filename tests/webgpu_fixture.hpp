// Where tests find a WebGPU: what HOLOGRAM_WEBGPU_LIBRARY names, or what scripts/software-webgpu
// has fetched, or what the system has.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "backends/webgpu/driver.hpp"

namespace hologram::tests {

// HOLOGRAM_WEBGPU_FOLDER is where the script puts what it fetches.
inline void use_fetched_webgpu() {
  const std::filesystem::path folder = HOLOGRAM_WEBGPU_FOLDER;
  if (std::getenv("HOLOGRAM_WEBGPU_LIBRARY") != nullptr) return;
  for (const char* name : {"libwebgpu_dawn.so", "libwgpu_native.so"})
    if (std::filesystem::exists(folder / name)) {
      setenv("HOLOGRAM_WEBGPU_LIBRARY", (folder / name).c_str(), 1);
      setenv("VK_ICD_FILENAMES", (folder / "lavapipe.json").c_str(), 0);
      // A loader of this name that is there already is the one that is found.
      dlopen((folder / "vulkan" / "libvulkan.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
      return;
    }
}

// The adapters there are; none: `reason` says why.
inline const std::vector<backends::webgpu::Found>& webgpu_adapters(std::string& reason) {
  use_fetched_webgpu();
  const auto& driver = backends::webgpu::Driver::instance();
  reason = driver.reason();
  if (!reason.empty()) reason += "; scripts/software-webgpu fetches one in software";
  return driver.adapters();
}

}  // namespace hologram::tests
