#include "backends/cuda/driver.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

#include "libraries/library.hpp"

namespace hologram::backends::cuda {
namespace {

std::atomic<bool> g_over{false};

}  // namespace

const Driver& Driver::instance() {
  static const auto* const driver = new Driver;
  return *driver;
}

Driver::Driver() {
  const core::DynamicLibrary library =
      libraries::open("HOLOGRAM_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"});
  if (!library.loaded()) {
    reason_ = fmt::format("the NVIDIA driver is not installed ({})", library.reason());
    return;
  }
  std::string missing;
#define HOLOGRAM_FIND(member, symbol, parameters) library.get(#symbol, functions_.member, missing);
  HOLOGRAM_CUDA_DRIVER(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  std::string newer;
#define HOLOGRAM_FIND(member, symbol, parameters) library.get(#symbol, functions_.member, newer);
  HOLOGRAM_CUDA_NEWER_DRIVER(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!missing.empty()) {
    reason_ = fmt::format("the NVIDIA driver is too old: it lacks {}", missing);
    return;
  }
  if (const Status status = functions_.init(0); status == kNoDevice) {
    reason_ = "No CUDA-capable device found";
    return;
  } else if (status != kSuccess) {
    reason_ = fmt::format("the NVIDIA driver does not start: {}", text(status));
    return;
  }
  functions_.version(&version_);
  // Handlers run in the reverse order: this one before the driver's own.
  std::atexit([] { g_over = true; });
}

std::string Driver::text(Status status) const {
  const char *name = nullptr, *text = nullptr;
  functions_.error_name(status, &name);
  functions_.error_text(status, &text);
  if (name == nullptr || text == nullptr) return fmt::format("CUDA error {}", status);
  return fmt::format("{} ({})", text, name);
}

bool Driver::over() { return g_over; }

}  // namespace hologram::backends::cuda
