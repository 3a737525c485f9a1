#include "backends/driver/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/messages.hpp"

namespace hologram::backends::driver {
namespace {

using core::Text;

}  // namespace

void Gpu::look_again() {
  const std::lock_guard lock(mutex_);
  if (lost_.empty() || driver_->context_push(context_) != kSuccess) return;
  if (driver_->context_synchronize() == kSuccess) {
    lost_.clear();
    troubled_.store(!quarantined_.empty(), std::memory_order_release);
  }
  Context mine = nullptr;
  driver_->context_pop(&mine);
}

bool Gpu::is_lost() const {
  const std::lock_guard lock(mutex_);
  return !lost_.empty();
}

Gpu::Gpu(const Driver& driver, const libraries::RuntimeCompiler& compiler, int index,
         DeviceNumber device, Context context)
    : driver_(driver),
      compiler_(compiler),
      unusable_(compiler.reason()),
      index_(index),
      device_(device),
      context_(context) {
  char text[256] = {};
  if (driver_->device_name(text, sizeof text - 1, device) == kSuccess) name_ = text;
  if (driver_->device_pci(text, sizeof text - 1, device) == kSuccess) pci_ = text;
  size_t bytes = 0;
  driver_->device_memory(&bytes, device);
  memory_ = bytes;
}

int Gpu::attribute(int which) const {
  int value = 0;
  driver_->device_attribute(&value, which, device_);
  return value;
}

DeviceInfo Gpu::describe() {
  DeviceInfo info;
  info.backend = driver_.platform().backend;
  info.index = index_;
  info.name = name_;
  info.driver = fmt::format("{}, {} {}, PCI {}", driver_.release(), compiler_.name(),
                            compiler_.version(), pci_);
  info.total_memory = info.max_allocation = memory_;
  info.free_memory = free_memory();
  info.compute_units = static_cast<uint32_t>(attribute(kMultiprocessors));
  info.max_lanes = static_cast<uint32_t>(attribute(kMaxThreads));
  info.max_shared_bytes = static_cast<uint32_t>(attribute(kMaxShared));
  info.binding_alignment = 16;
  info.unified_memory = attribute(kIntegrated) != 0;
  info.numerics = Numerics::Exact;
  for (size_t t = 1; t < kDTypeCount; t++) {
    info.storage.add(static_cast<DType>(t));
    if (is_compute_type(static_cast<DType>(t))) info.compute.add(static_cast<DType>(t));
  }
  describe(info);
  return info;
}

uint64_t Gpu::free_memory() {
  bool started = false;
  {
    const std::lock_guard lock(mutex_);
    started = context_ != nullptr;
  }
  size_t free = 0, total = 0;
  if (started) {
    if_usable([&](const DriverFunctions& driver) { driver.memory_info(&free, &total); });
    if (total > 0) return free;
  }
  free = free_memory_at(pci_);
  return free > 0 ? std::min<uint64_t>(free, memory_) : memory_;
}

std::string Gpu::open() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr || !unusable_.empty()) return unusable_;
  Context context = nullptr;
  if (const Status status = driver_->context_retain(&context, device_); status != kSuccess)
    return fmt::format("{} does not start: {}", name_, driver_.text(status));
  context_ = context;
  return {};
}

Gpu::Current::Current(Gpu& gpu) : driver_(gpu.driver_) {
  gpu.check(driver_->context_push(gpu.context_), "entering its context");
}

Gpu::Current::~Current() {
  Context mine = nullptr;
  driver_->context_pop(&mine);
}

Error Gpu::error(Status status, const std::string& work, bool under_way) {
  const std::string what = driver_.text(status);
  if (status == kOutOfMemory && !under_way) return core::error(Text::DeviceMemory, name_, work);
  if (!under_way && std::find(std::begin(kLosing), std::end(kLosing), status) == std::end(kLosing))
    return core::error(Text::DriverFailed, name_, work, what);
  const std::lock_guard lock(mutex_);
  if (lost_.empty()) lost_ = fmt::format("{} in {}", what, work);
  troubled_.store(true, std::memory_order_release);
  return core::error(Text::DeviceIsLost, name_, lost_);
}

void Gpu::link(Gpu& other) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!linked_.insert(other.context_).second) return;
  }
  if_usable([&](const auto& driver) {
    int possible = 0;
    // Whoever enabled it before us makes this fail, which is as well.
    if (driver.peer_possible(&possible, device_, other.device_) == kSuccess && possible != 0)
      static_cast<void>(driver.peer_enable(other.context_, 0));
  });
}

void Gpu::look_into_trouble() {
  std::vector<std::unique_ptr<StreamResources>> ended;  // goes when the lock is open
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) throw core::error(Text::DeviceIsLost, name_, lost_);
  if (driver_->context_push(context_) != kSuccess)
    throw core::error(Text::DeviceBusy, name_, quarantined_.back().program);
  const struct Left {
    const Driver& driver;
    ~Left() {
      Context mine = nullptr;
      driver->context_pop(&mine);
    }
  } left{driver_};
  while (!quarantined_.empty()) {
    const Quarantined& last = quarantined_.back();
    if (driver_->event_query(last.event) == kNotReady)
      throw core::error(Text::DeviceBusy, name_, last.program);
    set_stop(*last.resources, false, last.resources->stream);
    driver_->event_destroy(last.event);
    quarantined_.pop_back();
  }
  ended.swap(quarantined_streams_);
  troubled_.store(false, std::memory_order_release);
}

bool Gpu::releases() {
  if (Driver::over()) return false;
  try {
    require_usable();
    return true;
  } catch (const Error&) {
    return false;
  }
}

Status Gpu::set_stop(const StreamResources& resources, bool value, NativeStream stream) {
  if (driver_->host_address != nullptr) {
    std::atomic_ref(resources.signal[0]).store(value ? 1 : 0);
    return kSuccess;
  }
  return driver_->copy_in(resources.stop, resources.signal + (value ? 1 : 0), sizeof(uint32_t),
                          stream);
}

void Gpu::quarantine(const StreamResources& resources, Event event, std::string program) {
  const std::lock_guard lock(mutex_);
  quarantined_.push_back({&resources, event, std::move(program)});
  troubled_.store(true, std::memory_order_release);
}

std::unique_ptr<StreamResources> Gpu::make_resources(std::optional<NativeStream> native) {
  require_usable();
  const Current current(*this);
  auto resources = std::make_unique<StreamResources>(*this);
  void* words = nullptr;
  const std::string work = "making a stream";
  resources->native = native.has_value();
  if (native) resources->stream = *native;
  else check(driver_->stream_create(&resources->stream, kNonBlocking), work);
  check(driver_->stream_create(&resources->signals, kNonBlocking), work);
  check(driver_->allocate_host(&words, 2 * sizeof(uint32_t), kPortable), work);
  resources->signal = static_cast<uint32_t*>(words);
  resources->signal[0] = 0;
  resources->signal[1] = 1;
  if (driver_->host_address != nullptr)
    check(driver_->host_address(&resources->stop, words, 0), work);
  else check(driver_->allocate(&resources->stop, sizeof(uint32_t)), work);
  check(set_stop(*resources, false, resources->stream), work);
  return resources;
}

StreamResources::~StreamResources() {
  gpu.if_usable([this](const DriverFunctions& driver) {
    if (stream != nullptr && !native) driver.stream_destroy(stream);
    if (signals != nullptr) driver.stream_destroy(signals);
    if (stop != 0 && driver.host_address == nullptr) driver.release(stop);
    if (signal != nullptr) driver.release_host(signal);
    if (words != nullptr) driver.release_host(words);
    for (std::byte* memory : staging)
      if (memory != nullptr) driver.release_host(memory);
    for (Event event : staged)
      if (event != nullptr) driver.event_destroy(event);
    for (const auto& kept : {events, timers})
      for (Event event : kept) driver.event_destroy(event);
  });
}

void Gpu::give_back(std::unique_ptr<StreamResources> resources, bool idle) {
  if (idle) {
    // Others may have put work on an application's own stream since.
    if (!resources->native) forget(resources->stream);
    return forget(resources->signals);
  }
  const std::lock_guard lock(mutex_);
  quarantined_streams_.push_back(std::move(resources));
}

}  // namespace hologram::backends::driver
