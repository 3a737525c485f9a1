#include "runtime/selection.hpp"

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "runtime/settings.hpp"

namespace hologram::runtime {
namespace {

using core::Text;
using Opened = hal::Expected<std::shared_ptr<hal::Device>>;

using Entries = std::span<const backends::Entry>;

const backends::Entry& entry_of(Entries entries, BackendType type) {
  for (const backends::Entry& entry : entries)
    if (entry.type == type) return entry;
  throw core::error(Text::InternalError, fmt::format("no backend is '{}'", name_of(type)));
}

// What is asked of a device.
struct Wish {
  const BackendConfig& config;
  bool named;      // the backend is, so that a software device will do
  uint64_t bytes;  // that must be free
};

// Why the device will not do; empty if it will.
std::string shortcoming(const DeviceInfo& device, const Wish& wish) {
  if (device.software && !wish.named)
    return fmt::format("{} is a software device, which has to be named", device.name);
  if (wish.bytes > device.free_memory)
    return fmt::format("{} bytes are needed, {} has {} of {} free", wish.bytes, device.name,
                       device.free_memory, device.total_memory);
  return {};
}

Opened open(const backends::Entry& entry, int index, const BackendConfig& config) {
  try {
    Opened opened = entry.backend->open(index, config);
    const auto* const device = std::get_if<std::shared_ptr<hal::Device>>(&opened);
    if (device != nullptr && (*device)->info().backend != entry.type)
      return hal::Refusal{"its device says that it is another backend's (DeviceInfo::backend)"};
    return opened;
  } catch (const Error& error) {
    return hal::Refusal{error.what()};
  }
}

// A device of the backend, or what each of them lacks. Without a number any device will do where
// the user has left the choice to us.
Opened open_any(const backends::Entry& entry, const Wish& wish) {
  if (!wish.named && entry.backend != nullptr)
    if (std::string reason = entry.backend->skip_reason(); !reason.empty())
      return hal::Refusal{std::move(reason)};
  auto found = devices_of(entry);
  if (auto* refusal = std::get_if<hal::Refusal>(&found)) return *refusal;
  const auto& devices = std::get<std::vector<DeviceInfo>>(found);
  const auto wanted = static_cast<size_t>(wish.config.device_id);
  if (wanted >= devices.size())
    return hal::Refusal{fmt::format("there is no device {}, only {}", wanted, devices.size())};
  const bool any = wanted == 0 && (!wish.named || wish.bytes > 0);
  std::string reasons;
  for (size_t i = any ? 0 : wanted; i < (any ? devices.size() : wanted + 1); i++) {
    std::string reason = shortcoming(devices[i], wish);
    if (reason.empty()) {
      Opened opened = open(entry, static_cast<int>(i), wish.config);
      if (std::holds_alternative<std::shared_ptr<hal::Device>>(opened)) return opened;
      reason = std::get<hal::Refusal>(opened).reason;
    }
    reasons += (reasons.empty() ? "" : ", ") + reason;
  }
  return hal::Refusal{reasons};
}

Selection select_named(const BackendConfig& config, uint64_t bytes, Entries entries) {
  const backends::Entry& entry = entry_of(entries, config.backend_type);
  const std::string_view name = name_of(entry.type);
  auto found = devices_of(entry);
  if (const auto* devices = std::get_if<std::vector<DeviceInfo>>(&found))
    if (static_cast<size_t>(config.device_id) >= devices->size())
      throw core::error(Text::NoSuchDevice, name, config.device_id, devices->size());
  Opened opened = open_any(entry, {config, true, bytes});
  if (const auto* refusal = std::get_if<hal::Refusal>(&opened)) {
    if (bytes > 0 && std::holds_alternative<std::vector<DeviceInfo>>(found))
      throw core::error(Text::NoDeviceWithMemory, bytes, refusal->reason);
    throw core::error(Text::BackendNotAvailable, display_name(entry.type), refusal->reason);
  }
  return {std::get<std::shared_ptr<hal::Device>>(opened),
          fmt::format("{} was asked for by name", name)};
}

Selection select_first(const BackendConfig& config, uint64_t bytes, Entries entries) {
  const bool preferred = !config.preference.empty();
  std::vector<const backends::Entry*> candidates;
  for (const BackendType type : config.preference) candidates.push_back(&entry_of(entries, type));
  for (const backends::Entry& entry : entries)
    if (!preferred && entry.automatic) candidates.push_back(&entry);

  std::string skipped;
  for (const backends::Entry* entry : candidates) {
    const std::string_view name = name_of(entry->type);
    Opened opened = open_any(*entry, {config, preferred, bytes});
    if (auto* refusal = std::get_if<hal::Refusal>(&opened)) {
      if (preferred && config.strict)
        throw core::error(Text::FallbackRefused, display_name(entry->type), refusal->reason);
      skipped += fmt::format("; {} skipped: {}", name, refusal->reason);
      continue;
    }
    Selection chosen{
        std::get<std::shared_ptr<hal::Device>>(opened),
        fmt::format("{} is the first of {} that {}{}", name,
                    preferred ? "those preferred" : "all backends",
                    bytes > 0 ? fmt::format("has {} bytes free", bytes) : "is there", skipped)};
    // What automatic choice skips is no surprise; what was preferred is missed.
    core::log(preferred && !skipped.empty() ? LogLevel::Warning : LogLevel::Info, chosen.why);
    return chosen;
  }
  const std::string reasons = skipped.empty() ? skipped : skipped.substr(2);
  if (bytes > 0) throw core::error(Text::NoDeviceWithMemory, bytes, reasons);
  throw core::error(Text::NoBackend, reasons);
}

}  // namespace

Selection select(const BackendConfig& config, uint64_t bytes, Entries entries) {
  check(config);
  if (config.log_level) core::set_log_level(*config.log_level);
  const uint64_t limit = config.cache_size_mb << 20;
  if (limit > 0 && bytes > limit)
    throw core::error(
        Text::NoDeviceWithMemory, bytes,
        fmt::format("HOLOGRAM_CACHE_SIZE_MB={} allows {} bytes", config.cache_size_mb, limit));
  return config.backend_type == BackendType::Auto ? select_first(config, bytes, entries)
                                                  : select_named(config, bytes, entries);
}

namespace {

// What the application has of a device; a backend that is not named is CUDA.
template <class Open>
Selection shared(const BackendConfig& config, const char* what, const Open& open) {
  check(config);
  const BackendType type =
      config.backend_type == BackendType::Auto ? BackendType::Cuda : config.backend_type;
  const std::vector<backends::Entry> entries = entries_in_order();
  const backends::Entry& entry = entry_of(entries, type);
  auto found = devices_of(entry);
  Opened opened = hal::Refusal{};
  if (const auto* refusal = std::get_if<hal::Refusal>(&found)) opened = *refusal;
  else opened = open(*entry.backend, std::get<std::vector<DeviceInfo>>(found).size());
  if (const auto* refusal = std::get_if<hal::Refusal>(&opened))
    throw core::error(Text::BackendNotAvailable, display_name(type), refusal->reason);
  return {std::get<std::shared_ptr<hal::Device>>(opened),
          fmt::format("{} shares a {} of the application", name_of(type), what)};
}

}  // namespace

Selection select_native(const BackendConfig& config, void* context, void* stream) {
  return shared(config, "context", [&](hal::Backend& backend, size_t) {
    return backend.adopt(context, stream, config);
  });
}

Selection select_on_stream(const BackendConfig& config, void* stream) {
  return shared(config, "stream", [&](hal::Backend& backend, size_t devices) {
    if (static_cast<size_t>(config.device_id) >= devices)
      throw core::error(Text::NoSuchDevice, name_of(backend.type()), config.device_id, devices);
    return backend.open_on(config.device_id, stream, config);
  });
}

}  // namespace hologram::runtime
