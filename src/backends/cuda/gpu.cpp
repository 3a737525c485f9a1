#include "backends/cuda/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/dynamic_library.hpp"
#include "core/messages.hpp"

namespace hologram::backends::cuda {
namespace {

using core::Text;

struct NvmlMemory {
  unsigned long long total, free, used;
};

// Bytes free on the device of that PCI address, of the library that tells it without starting the
// device; 0 if it does not.
uint64_t free_memory_at(const std::string& pci) {
  static const core::DynamicLibrary library({"libnvidia-ml.so.1"});
  static auto* const init = library.get<int()>("nvmlInit_v2");
  static auto* const find =
      library.get<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  static auto* const ask = library.get<int(void*, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  if (init == nullptr || find == nullptr || ask == nullptr) return 0;
  static const bool ready = init() == 0;
  void* device = nullptr;
  NvmlMemory memory{};
  const bool known = ready && find(pci.c_str(), &device) == 0 && ask(device, &memory) == 0;
  return known ? memory.free : 0;
}

}  // namespace

std::span<Gpu* const> Gpu::all() {
  static const auto* const gpus = [] {
    auto* const found = new std::vector<Gpu*>;
    const Driver& driver = Driver::instance();
    int count = 0;
    if (driver.reason().empty()) driver->device_count(&count);
    for (int i = 0; i < count; i++)
      if (DeviceNumber device = 0; driver->device(&device, i) == kSuccess)
        found->push_back(new Gpu(i, device));
    return found;
  }();
  return *gpus;
}

hal::Expected<Gpu*> Gpu::of(Context context) {
  const Driver& driver = Driver::instance();
  if (context == nullptr) return hal::Refusal{"no context was given"};
  DeviceNumber device = 0;
  Status status = driver->context_push(context);
  if (status == kSuccess) {
    status = driver->context_device(&device);
    Context mine = nullptr;
    driver->context_pop(&mine);
  }
  if (status != kSuccess)
    return hal::Refusal{fmt::format("its context cannot be entered: {}", driver.text(status))};
  const auto found = std::find_if(all().begin(), all().end(),
                                  [&](const Gpu* gpu) { return gpu->device_ == device; });
  if (found == all().end()) return hal::Refusal{"its context is of no device that is known"};
  Gpu& primary = **found;
  if (!primary.unusable_.empty()) return hal::Refusal{primary.unusable_};
  unsigned flags = 0;
  int active = 0;
  driver->context_state(device, &flags, &active);
  if (active != 0 && primary.open().empty() && primary.context_ == context) return &primary;
  // Kept, as those of the process are; a context that comes where another was may take its place.
  static std::mutex mutex;
  static auto* const foreign = new std::vector<Gpu*>;
  const std::lock_guard lock(mutex);
  for (Gpu* gpu : *foreign) {
    if (gpu->context_ != context || gpu->device_ != device) continue;
    gpu->look_again();
    return gpu;
  }
  foreign->push_back(new Gpu(primary.index_, device, context));
  return foreign->back();
}

// A context that answers is not the one that was lost.
void Gpu::look_again() {
  const std::lock_guard lock(mutex_);
  if (lost_.empty() || driver_->context_push(context_) != kSuccess) return;
  if (driver_->context_synchronize() == kSuccess) {
    lost_.clear();
    troubled_.store(!abandoned_.empty(), std::memory_order_release);
  }
  Context mine = nullptr;
  driver_->context_pop(&mine);
}

bool Gpu::is_lost() const {
  const std::lock_guard lock(mutex_);
  return !lost_.empty();
}

Gpu::Gpu(int index, DeviceNumber device, Context context)
    : driver_(Driver::instance()),
      compiler_(Nvrtc::instance(driver_.version() / 1000)),
      index_(index),
      device_(device),
      products_(driver_.version() / 1000),
      convolutions_(driver_.version() / 1000),
      context_(context) {
  char text[256] = {};
  if (driver_->device_name(text, sizeof text - 1, device) == kSuccess) name_ = text;
  if (driver_->device_pci(text, sizeof text - 1, device) == kSuccess) pci_ = text;
  size_t bytes = 0;
  driver_->device_memory(&bytes, device);
  memory_ = bytes;
  unusable_ = compiler_.reason();
  if (!unusable_.empty()) return;
  auto architecture = compiler_.architecture(attribute(kMajor) * 10 + attribute(kMinor));
  if (auto* refusal = std::get_if<hal::Refusal>(&architecture)) {
    unusable_ = refusal->reason;
    return;
  }
  architecture_ = std::get<Architecture>(architecture);
  // As printed kernels ask of what they are compiled for.
  constexpr int kWaiting = 90;
  const int version = std::atoi(architecture_.c_str() + architecture_.find('_') + 1);
  kernels_wait_ = version >= kWaiting && driver_->launch_with != nullptr;
}

int Gpu::attribute(int which) const {
  int value = 0;
  driver_->device_attribute(&value, which, device_);
  return value;
}

DeviceInfo Gpu::describe() {
  DeviceInfo info;
  info.backend = BackendType::Cuda;
  info.index = index_;
  info.name = name_;
  info.driver = fmt::format("CUDA {}.{}, NVRTC {}, PCI {}", driver_.version() / 1000,
                            driver_.version() % 1000 / 10, compiler_.version(), pci_);
  info.total_memory = info.max_allocation = memory_;
  info.free_memory = free_memory();
  info.compute_units = static_cast<uint32_t>(attribute(kMultiprocessors));
  info.compute_capability = fmt::format("{}.{}", attribute(kMajor), attribute(kMinor));
  info.max_lanes = static_cast<uint32_t>(attribute(kMaxThreads));
  info.max_shared_bytes = static_cast<uint32_t>(attribute(kMaxShared));
  info.binding_alignment = 16;
  info.unified_memory = attribute(kIntegrated) != 0;
  info.numerics = Numerics::Exact;
  for (size_t t = 1; t < kDTypeCount; t++) {
    info.storage.add(static_cast<DType>(t));
    if (is_compute_type(static_cast<DType>(t))) info.compute.add(static_cast<DType>(t));
  }
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
  std::vector<std::unique_ptr<Lane>> ended;  // goes when the lock is open
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) throw core::error(Text::DeviceIsLost, name_, lost_);
  if (driver_->context_push(context_) != kSuccess)
    throw core::error(Text::DeviceBusy, name_, abandoned_.back().program);
  const struct Left {
    const Driver& driver;
    ~Left() {
      Context mine = nullptr;
      driver->context_pop(&mine);
    }
  } left{driver_};
  while (!abandoned_.empty()) {
    const Abandoned& last = abandoned_.back();
    if (driver_->event_query(last.event) == kNotReady)
      throw core::error(Text::DeviceBusy, name_, last.program);
    set_stop(*last.lane, false, last.lane->stream);
    driver_->event_destroy(last.event);
    abandoned_.pop_back();
  }
  ended.swap(stuck_);
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

Status Gpu::set_stop(const Lane& lane, bool value, NativeStream stream) {
  return driver_->copy_in(lane.stop, lane.signal + (value ? 1 : 0), sizeof(uint32_t), stream);
}

void Gpu::abandon(const Lane& lane, Event event, std::string program) {
  const std::lock_guard lock(mutex_);
  abandoned_.push_back({&lane, event, std::move(program)});
  troubled_.store(true, std::memory_order_release);
}

std::unique_ptr<Lane> Gpu::lane(std::optional<NativeStream> native) {
  require_usable();
  const Current current(*this);
  auto lane = std::make_unique<Lane>(*this);
  void* words = nullptr;
  const std::string work = "making a stream";
  lane->native = native.has_value();
  if (native) lane->stream = *native;
  else check(driver_->stream_create(&lane->stream, kNonBlocking), work);
  check(driver_->stream_create(&lane->signals, kNonBlocking), work);
  check(driver_->allocate_host(&words, 2 * sizeof(uint32_t), kPortable), work);
  lane->signal = static_cast<uint32_t*>(words);
  lane->signal[0] = 0;
  lane->signal[1] = 1;
  check(driver_->allocate(&lane->stop, sizeof(uint32_t)), work);
  check(set_stop(*lane, false, lane->stream), work);
  return lane;
}

Lane::~Lane() {
  gpu.if_usable([this](const DriverFunctions& driver) {
    if (stream != nullptr && !native) driver.stream_destroy(stream);
    if (signals != nullptr) driver.stream_destroy(signals);
    if (stop != 0) driver.release(stop);
    if (signal != nullptr) driver.release_host(signal);
    for (std::byte* memory : staging)
      if (memory != nullptr) driver.release_host(memory);
    for (Event event : staged)
      if (event != nullptr) driver.event_destroy(event);
    for (const auto& kept : {events, timers})
      for (Event event : kept) driver.event_destroy(event);
  });
}

void Gpu::give_back(std::unique_ptr<Lane> lane, bool idle) {
  if (idle) return;
  const std::lock_guard lock(mutex_);
  stuck_.push_back(std::move(lane));
}

}  // namespace hologram::backends::cuda
