#include "runtime/selection.hpp"

#include <fmt/format.h>

#include <array>

#include "backends/registry.hpp"
#include "core/log.hpp"
#include "core/messages.hpp"

namespace hologram {
namespace {

constexpr std::array<std::pair<BackendType, std::string_view>, 8> kNames = {{
    {BackendType::Auto, "auto"},
    {BackendType::Cpu, "cpu"},
    {BackendType::Cuda, "cuda"},
    {BackendType::Rocm, "rocm"},
    {BackendType::Metal, "metal"},
    {BackendType::OpenCl, "opencl"},
    {BackendType::WebGpu, "webgpu"},
    {BackendType::Null, "null"},
}};

}  // namespace

std::string_view name_of(BackendType type) {
  for (const auto& [t, name] : kNames)
    if (t == type) return name;
  return "unknown";
}

std::optional<BackendType> parse_backend(std::string_view name) {
  for (const auto& [type, known] : kNames)
    if (known == name) return type;
  return std::nullopt;
}

std::vector<BackendReport> discover_backends() {
  std::vector<BackendReport> reports;
  for (const backends::Entry& entry : backends::all()) {
    BackendReport report{entry.type, {}, {}};
    if (entry.backend == nullptr) {
      report.reason = entry.absence;
    } else {
      auto found = entry.backend->discover();
      if (auto* devices = std::get_if<std::vector<DeviceInfo>>(&found))
        report.devices = std::move(*devices);
      else report.reason = std::get<hal::Refusal>(found).reason;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

namespace runtime {
namespace {

using core::Text;

const backends::Entry& entry_of(BackendType type) {
  for (const backends::Entry& entry : backends::all())
    if (entry.type == type) return entry;
  throw core::error(Text::UnknownBackend, name_of(type), backend_names());
}

// The device, or why not.
hal::Expected<std::shared_ptr<hal::Device>> open(const backends::Entry& entry,
                                                 const BackendConfig& config) {
  if (entry.backend == nullptr) return hal::Refusal{entry.absence};
  auto found = entry.backend->discover();
  if (auto* refusal = std::get_if<hal::Refusal>(&found)) return *refusal;
  const size_t count = std::get<std::vector<DeviceInfo>>(found).size();
  if (config.device_id < 0 || static_cast<size_t>(config.device_id) >= count)
    throw core::error(Text::NoSuchDevice, name_of(entry.type), config.device_id, count);
  return entry.backend->open(config.device_id, config);
}

}  // namespace

std::string backend_names() {
  std::string names;
  for (const auto& [type, name] : kNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Selection select(const BackendConfig& config) {
  if (config.backend_type != BackendType::Auto) {
    auto opened = open(entry_of(config.backend_type), config);
    if (auto* refusal = std::get_if<hal::Refusal>(&opened))
      throw core::error(Text::BackendNotAvailable, name_of(config.backend_type), refusal->reason);
    return {std::get<std::shared_ptr<hal::Device>>(opened),
            fmt::format("{} was asked for by name", name_of(config.backend_type))};
  }
  std::vector<const backends::Entry*> candidates;
  for (const BackendType type : config.preference) candidates.push_back(&entry_of(type));
  if (candidates.empty())
    for (const backends::Entry& entry : backends::all())
      if (entry.automatic) candidates.push_back(&entry);

  std::string skipped;
  for (const backends::Entry* entry : candidates) {
    auto opened = open(*entry, config);
    if (auto* refusal = std::get_if<hal::Refusal>(&opened)) {
      skipped += fmt::format("; {} skipped: {}", name_of(entry->type), refusal->reason);
      continue;
    }
    Selection chosen{
        std::get<std::shared_ptr<hal::Device>>(opened),
        fmt::format("{} is the first of {} that is there{}", name_of(entry->type),
                    config.preference.empty() ? "all backends" : "those preferred", skipped)};
    core::log(LogLevel::Info, chosen.why);
    return chosen;
  }
  throw core::error(Text::BackendNotAvailable, "any",
                    skipped.empty() ? skipped : skipped.substr(2));
}

}  // namespace runtime
}  // namespace hologram
