#include "backends/metal/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/host_memory.hpp"
#include "libraries/library.hpp"

namespace hologram::backends::metal {
namespace {

constexpr const char* kMetal = "/System/Library/Frameworks/Metal.framework/Metal";
// A program without windows finds devices only where this is loaded.
constexpr const char* kGraphics = "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics";
constexpr const char* kRuntime = "/usr/lib/libobjc.A.dylib";
constexpr uint32_t kManyLanes = 1024, kFewLanes = 512;

std::atomic<bool> g_ending{false};

}  // namespace

bool is_ending() { return g_ending; }

const Driver& Driver::instance() {
  static const auto* const driver = new Driver;
  return *driver;
}

Driver::Driver() {
  reason_ = open();
  if (!reason_.empty()) return;
  void* const pool = runtime_.push();
  find_devices();
  runtime_.pop(pool);
  // Handlers run in the reverse order: this one before the framework's own.
  std::atexit([] { g_ending = true; });
}

std::string Driver::open() {
  const core::DynamicLibrary metal = libraries::open("HOLOGRAM_METAL_LIBRARY", {kMetal});
  if (!metal.loaded())
    return fmt::format(
        "Metal backend only available on Apple platforms: {}. Where Metal is, "
        "HOLOGRAM_METAL_LIBRARY may say in which file, and HOLOGRAM_OBJC_LIBRARY where the "
        "runtime of Objective-C is",
        metal.reason());
  const core::DynamicLibrary objc = libraries::open("HOLOGRAM_OBJC_LIBRARY", {kRuntime});
  if (!objc.loaded())
    return fmt::format("the runtime of Objective-C is not found ({})", objc.reason());
  if (metal.name() == kMetal) core::DynamicLibrary({kGraphics});
  std::string missing;
  objc.get("objc_msgSend", runtime_.send, missing);
  objc.get("sel_registerName", runtime_.selector, missing);
  objc.get("objc_getClass", runtime_.lookup, missing);
  objc.get("objc_autoreleasePoolPush", runtime_.push, missing);
  objc.get("objc_autoreleasePoolPop", runtime_.pop, missing);
  if (!missing.empty())
    return fmt::format("the runtime of Objective-C is another one: it lacks {}", missing);
  // iOS has the second alone before its version 18.
  all_devices_ = metal.get<Array*()>("MTLCopyAllDevices");
  default_device_ = metal.get<Device*()>("MTLCreateSystemDefaultDevice");
  if (all_devices_ == nullptr && default_device_ == nullptr)
    return fmt::format("{} lacks MTLCreateSystemDefaultDevice", metal.name());
#define HOLOGRAM_MESSAGE(member, of, selector, ...) messages_.member.resolve(runtime_);
  HOLOGRAM_METAL_MESSAGES(HOLOGRAM_MESSAGE)
#undef HOLOGRAM_MESSAGE
#define HOLOGRAM_CLASS(member, name)                                             \
  if ((classes_.member = runtime_.lookup(name)) == nullptr && missing.empty()) { \
    missing = name;                                                              \
  }
  HOLOGRAM_METAL_CLASSES(HOLOGRAM_CLASS)
#undef HOLOGRAM_CLASS
  return missing.empty() ? "" : fmt::format("Metal is too old: it lacks the class {}", missing);
}

// Devices stay for the life of the process.
void Driver::find_devices() {
  if (all_devices_ != nullptr) {
    Array* const all = all_devices_();
    for (UInt i = 0; all != nullptr && i < messages_.count(all); i++) {
      Object* const device = messages_.element(all, i);
      take(reinterpret_cast<Device*>(messages_.retain(device)));
    }
    if (all != nullptr) messages_.release(reinterpret_cast<Object*>(all));
  }
  if (devices_.empty() && default_device_ != nullptr)
    if (Device* const device = default_device_(); device != nullptr) take(device);
  // The system's own order, but for those that are slower by nature or may be pulled out.
  std::stable_sort(devices_.begin(), devices_.end(), [&](const Found& a, const Found& b) {
    const auto rank = [&](const Found& found) {
      return (ask(found.device, messages_.is_low_power, Bool{false}) ? 2 : 0) +
             (ask(found.device, messages_.is_removable, Bool{false}) ? 1 : 0);
    };
    return rank(a) < rank(b);
  });
  for (size_t i = 0; i < devices_.size(); i++) devices_[i].info.index = static_cast<int>(i);
  if (devices_.empty()) reason_ = "No Metal device found";
}

std::string Driver::family_of(Device* device) const {
  for (Int family = kLastAppleFamily; family >= kFirstAppleFamily; family--)
    if (messages_.supports_family(device, family))
      return fmt::format("Apple{}", family - kFirstAppleFamily + 1);
  for (const Int family : {kSecondMacFamily, kFirstMacFamily})
    if (messages_.supports_family(device, family))
      return fmt::format("Mac{}", family - kFirstMacFamily + 1);
  return {};
}

// What a device tells of it is a structure, which is handed over in another way on each processor;
// the table of feature sets says it as well.
bool Driver::has_large_groups(Device* device) const {
  for (const Int family : {kLargeGroupsFamily, kFirstMacFamily, kSecondMacFamily})
    if (messages_.supports_family(device, family)) return true;
  return false;
}

void Driver::take(Device* device) {
  Found found{device, {}};
  DeviceInfo& info = found.info;
  info.backend = BackendType::Metal;
  const char* const name = messages_.utf8(messages_.name(device));
  info.name = name == nullptr || *name == '\0' ? "a device without a name" : name;
  info.driver = "Metal";
  info.compute_capability = family_of(device);
  info.unified_memory = messages_.is_unified(device);
  info.total_memory = ask(device, messages_.working_set, uint64_t{0});
  // Where that is not known, as on iOS before 16, what the host has is the limit.
  if (info.total_memory == 0) info.total_memory = core::host_memory().total;
  info.max_allocation = messages_.most_buffer_bytes(device);
  info.compute_units = 1;  // nothing tells how many there are
  info.max_lanes = has_large_groups(device) ? kManyLanes : kFewLanes;
  info.max_shared_bytes =
      static_cast<uint32_t>(std::min<UInt>(messages_.most_shared_bytes(device), UINT32_MAX));
  // One for what stops loops, one for numbers.
  info.max_bindings = kMostBuffers - 2;
  info.binding_alignment = 16;
  info.numerics = Numerics::Relaxed;  // until a trial has found otherwise
  for (size_t t = 1; t < kDTypeCount; t++) {
    const auto type = static_cast<DType>(t);
    if (type == DType::F64) continue;
    info.storage.add(type);
    if (is_compute_type(type)) info.compute.add(type);
  }
  devices_.push_back(std::move(found));
}

uint64_t Driver::free_memory(const Found& found) const {
  void* const pool = runtime_.push();
  const uint64_t used = messages_.allocated(found.device);
  runtime_.pop(pool);
  const uint64_t left = found.info.total_memory - std::min(used, found.info.total_memory);
  const uint64_t of_host = core::host_memory().free;  // 0 where the system does not say
  return found.info.unified_memory && of_host > 0 ? std::min(left, of_host) : left;
}

}  // namespace hologram::backends::metal
