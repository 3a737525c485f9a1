// What there is to run on, and the order of automatic choice.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <ostream>
#include <utility>

#include "core/messages.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

struct Name {
  BackendType type;
  std::string_view name, display;
};

constexpr auto kNames = std::to_array<Name>({
    {BackendType::Auto, "auto", "automatic"},
    {BackendType::Cpu, "cpu", "CPU"},
    {BackendType::Cuda, "cuda", "CUDA"},
    {BackendType::Rocm, "rocm", "ROCm"},
    {BackendType::Metal, "metal", "Metal"},
    {BackendType::OpenCl, "opencl", "OpenCL"},
    {BackendType::WebGpu, "webgpu", "WebGPU"},
    {BackendType::Null, "null", "null"},
});

// What set_backend_priority was told.
struct Priority {
  std::mutex mutex;
  std::vector<BackendType> order;
};

// Never destroyed: executors may be made while static objects go.
Priority& priority() {
  static auto* const instance = new Priority;
  return *instance;
}

std::vector<BackendType> first_ones() {
  Priority& p = priority();
  const std::lock_guard lock(p.mutex);
  return p.order;
}

// Whether there is a device that may be chosen without being named.
bool has_hardware(const std::vector<DeviceInfo>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceInfo& device) { return !device.software; });
}

std::string gibibytes(uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(1 << 30));
}

}  // namespace

std::string_view name_of(BackendType type) {
  for (const Name& row : kNames)
    if (row.type == type) return row.name;
  const std::string_view name = backends::registered_name(type);
  return name.empty() ? "unknown" : name;
}

std::string_view display_name(BackendType type) {
  for (const Name& row : kNames)
    if (row.type == type) return row.display;
  const std::string_view name = backends::registered_name(type);
  return name.empty() ? "unknown" : name;
}

std::optional<BackendType> parse_backend(std::string_view name) {
  // What others call them.
  static constexpr std::pair<std::string_view, BackendType> kOthers[] = {
      {"wgpu", BackendType::WebGpu}, {"hip", BackendType::Rocm}, {"mps", BackendType::Metal}};
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Name& row : kNames)
    if (row.name == lower) return row.type;
  for (const auto& [other, type] : kOthers)
    if (other == lower) return type;
  return backends::registered_type(lower);
}

namespace runtime {

std::vector<BackendType> backend_types() {
  std::vector<BackendType> types;
  types.reserve(std::size(kNames));
  for (const Name& row : kNames) types.push_back(row.type);
  for (const backends::Entry& entry : backends::all())
    if (!backends::registered_name(entry.type).empty()) types.push_back(entry.type);
  return types;
}

hal::Expected<std::vector<DeviceInfo>> devices_of(const backends::Entry& entry) {
  if (entry.backend == nullptr) return hal::Refusal{entry.absence};
  try {
    return entry.backend->discover();
  } catch (const std::exception& error) {
    return hal::Refusal{error.what()};
  }
}

std::vector<backends::Entry> entries_in_order() {
  const std::vector<BackendType> first = first_ones();
  std::vector<backends::Entry> entries;
  for (const BackendType type : first)
    for (const backends::Entry& entry : backends::all())
      if (entry.type == type) entries.push_back({entry.type, entry.backend, entry.absence, true});
  for (const backends::Entry& entry : backends::all())
    if (std::find(first.begin(), first.end(), entry.type) == first.end()) entries.push_back(entry);
  return entries;
}

hal::Expected<BackendType> best_of(std::span<const backends::Entry> entries) {
  std::string reasons;
  for (const backends::Entry& entry : entries) {
    if (!entry.automatic) continue;
    auto found = devices_of(entry);
    const auto* refusal = std::get_if<hal::Refusal>(&found);
    if (refusal == nullptr && has_hardware(std::get<std::vector<DeviceInfo>>(found)))
      return entry.type;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name_of(entry.type),
                           refusal == nullptr ? "software devices only" : refusal->reason);
  }
  return hal::Refusal{reasons};
}

}  // namespace runtime

std::vector<BackendReport> discover_backends() {
  std::vector<BackendReport> reports;
  for (const backends::Entry& entry : runtime::entries_in_order()) {
    BackendReport report{entry.type, {}, {}};
    auto found = runtime::devices_of(entry);
    if (auto* devices = std::get_if<std::vector<DeviceInfo>>(&found))
      report.devices = std::move(*devices);
    else report.reason = std::get<hal::Refusal>(found).reason;
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<LibraryInfo> discover_libraries() {
  std::vector<LibraryInfo> found;
  for (const backends::Entry& entry : backends::all()) {
    if (entry.backend == nullptr) continue;
    std::vector<LibraryInfo> more = entry.backend->libraries();
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

void set_backend_priority(const std::vector<BackendType>& order) {
  std::vector<std::string_view> given, known;
  for (const BackendType type : order) given.push_back(name_of(type));
  for (const backends::Entry& entry : backends::all()) known.push_back(name_of(entry.type));
  for (size_t i = 0; i < given.size(); i++)
    if (std::find(known.begin(), known.end(), given[i]) == known.end() ||
        std::find(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i), given[i]) !=
            given.begin() + static_cast<std::ptrdiff_t>(i))
      throw core::error(core::Text::BadPriority, fmt::format("{}", fmt::join(given, ", ")),
                        fmt::format("{}", fmt::join(known, ", ")));
  Priority& p = priority();
  const std::lock_guard lock(p.mutex);
  p.order = order;
}

std::vector<BackendType> backend_priority() {
  std::vector<BackendType> types;
  for (const backends::Entry& entry : runtime::entries_in_order())
    if (entry.automatic) types.push_back(entry.type);
  return types;
}

BackendType best_available_backend() {
  auto best = runtime::best_of(runtime::entries_in_order());
  if (const auto* refusal = std::get_if<hal::Refusal>(&best))
    throw core::error(core::Text::NoBackend, refusal->reason);
  return std::get<BackendType>(best);
}

std::string backend_summary() {
  const auto best = runtime::best_of(runtime::entries_in_order());
  const auto* marked = std::get_if<BackendType>(&best);
  std::string text;
  for (const BackendReport& report : discover_backends()) {
    const char mark = marked != nullptr && *marked == report.type ? '*' : ' ';
    for (const DeviceInfo& device : report.devices)
      text += fmt::format("{} {:8} {}  {}, {}, {} of {} free\n", mark, display_name(report.type),
                          device.index, device.name, device.driver, gibibytes(device.free_memory),
                          gibibytes(device.total_memory));
    if (report.devices.empty())
      text += fmt::format("{} {:8} -  {}\n", mark, display_name(report.type), report.reason);
  }
  return text;
}

void print_backend_summary(std::ostream& stream) { stream << backend_summary(); }

}  // namespace hologram
