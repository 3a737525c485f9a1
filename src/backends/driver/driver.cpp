#include "backends/driver/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "backends/driver/gpu.hpp"

namespace hologram::backends::driver {
namespace {

std::atomic<bool> g_over{false};

}  // namespace

Driver::Driver(const Platform& platform)
    : platform_(platform), cache_(new core::DiskCache(platform.cache)) {}

void Driver::start(const char* called) {
  if (const Status status = functions_.init(0); status == kNoDevice) {
    reason_ = platform_.no_device;
    return;
  } else if (status != kSuccess) {
    reason_ = fmt::format("{} does not start: {}", called, text(status));
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
  if (name == nullptr || text == nullptr) return fmt::format("{} error {}", platform_.name, status);
  if (std::string_view(name) == text) return text;
  return fmt::format("{} ({})", text, name);
}

bool Driver::over() { return g_over; }

std::span<Gpu* const> Driver::gpus() const {
  std::call_once(looked_, [this] {
    int count = 0;
    if (reason_.empty()) functions_.device_count(&count);
    for (int i = 0; i < count; i++)
      if (DeviceNumber device = 0; functions_.device(&device, i) == kSuccess)
        gpus_.push_back(make(i, device, nullptr).release());
  });
  return gpus_;
}

hal::Expected<Gpu*> Driver::gpu_of(Context context) const {
  if (context == nullptr) return hal::Refusal{"no context was given"};
  DeviceNumber device = 0;
  Status status = functions_.context_push(context);
  if (status == kSuccess) {
    status = functions_.context_device(&device);
    Context mine = nullptr;
    functions_.context_pop(&mine);
  }
  if (status != kSuccess)
    return hal::Refusal{fmt::format("its context cannot be entered: {}", text(status))};
  const auto all = gpus();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Gpu* gpu) { return gpu->device() == device; });
  if (found == all.end()) return hal::Refusal{"its context is of no device that is known"};
  Gpu& primary = **found;
  if (!primary.unusable().empty()) return hal::Refusal{primary.unusable()};
  unsigned flags = 0;
  int active = 0;
  functions_.context_state(device, &flags, &active);
  if (active != 0 && primary.open().empty() && primary.context() == context) return &primary;
  // Kept, as those of the process are; a context that comes where another was may take its place.
  const std::lock_guard lock(mutex_);
  for (Gpu* gpu : foreign_) {
    if (gpu->context() != context || gpu->device() != device) continue;
    gpu->look_again();
    return gpu;
  }
  foreign_.push_back(make(primary.index(), device, context).release());
  return foreign_.back();
}

}  // namespace hologram::backends::driver
