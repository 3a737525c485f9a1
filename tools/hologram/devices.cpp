// hologram devices
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using program::Program;
using Json = nlohmann::ordered_json;

// Touches memory, control flow, workgroup memory, a barrier, a reduction and a function.
constexpr const char* kTest = R"(
program device_test(in x: f32[n], out y: f32[n]) workgroup(64) lanes(n) {
  shared reversed: f32[64]
  i = global_id.x
  reversed[63 - lane_id.x] = x[i]
  barrier()
  var s = 0.0
  for k in 0..4 { s += x[i] * f32(k) }
  total = group_reduce_add(x[i])
  if i < n { y[i] = sqrt(s * s) + reversed[lane_id.x] * 1000.0 + total * 10000.0 }
}
)";

// Empty if the device computes what it should, else what went wrong. All numbers are small and
// whole, so that every device must get them exactly.
std::string test(const DeviceInfo& device) {
  constexpr int64_t kLanes = 256, kGroup = 64;
  try {
    BackendConfig config = BackendConfig::from_environment();
    config.backend_type = device.backend;
    config.preference.clear();
    config.device_id = device.index;
    std::vector<float> x(kLanes);
    for (int64_t i = 0; i < kLanes; i++) x[static_cast<size_t>(i)] = static_cast<float>(i % 4);
    const auto results = Executor::from_config(config).run(Program::parse(kTest, "device test"),
                                                           {{"x", Array::from(x, {kLanes})}});
    const auto y = results.at("y").as<float>();
    for (int64_t i = 0; i < kLanes; i++) {
      const int64_t mirror = i / kGroup * kGroup + (kGroup - 1 - i % kGroup);
      const auto wanted = static_cast<float>(6 * (i % 4) + 1000 * (mirror % 4) + 10000 * 96);
      if (y[static_cast<size_t>(i)] != wanted) return "a test program gave a wrong answer";
    }
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string details(const DeviceInfo& d) {
  return fmt::format("{}; {}; {} compute unit{}; {}", d.name, d.driver, d.compute_units,
                     d.compute_units == 1 ? "" : "s",
                     byte_text(static_cast<double>(d.total_memory)));
}

Json type_names(const program::DTypeSet& set) {
  Json names = Json::array();
  for (size_t t = 1; t < kDTypeCount; t++)
    if (set.has(static_cast<DType>(t))) names.push_back(name_of(static_cast<DType>(t)));
  return names;
}

// docs/devices.schema.json says what everything is.
Json describe(const DeviceInfo& d, const std::string& failure) {
  Json object = {{"index", d.index},
                 {"name", d.name},
                 {"driver", d.driver},
                 {"works", failure.empty()},
                 {"compute_units", d.compute_units},
                 {"compute_capability", d.compute_capability},
                 {"total_memory", d.total_memory},
                 {"free_memory", d.free_memory},
                 {"max_allocation", d.max_allocation},
                 {"max_lanes", d.max_lanes},
                 {"max_shared_bytes", d.max_shared_bytes},
                 {"max_bindings", d.max_bindings},
                 {"binding_alignment", d.binding_alignment},
                 {"unified_memory", d.unified_memory},
                 {"software", d.software},
                 {"numerics", d.numerics == Numerics::Exact ? "exact" : "relaxed"},
                 {"compute", type_names(d.compute)},
                 {"storage", type_names(d.storage)}};
  if (!failure.empty()) object["failure"] = failure;
  return object;
}

Json describe(const LibraryInfo& library) {
  Json object = {{"name", library.name}};
  if (library.reason.empty()) {
    object["version"] = library.version;
    object["path"] = library.path;
  } else {
    object["reason"] = library.reason;
  }
  return object;
}

// Which device programs run on, or why none.
Json choice() {
  try {
    const Executor chosen;
    return {{"backend", name_of(chosen.device().backend)},
            {"index", chosen.device().index},
            {"why", chosen.why()}};
  } catch (const Error& e) {
    return {{"backend", nullptr}, {"why", e.what()}};
  }
}

}  // namespace

int devices(bool json) {
  BackendConfig::from_environment();  // a bad variable is told before anything else
  Json list = Json::array();
  for (const BackendReport& report : discover_backends()) {
    const auto name = name_of(report.type);
    Json backend = {{"backend", name}, {"devices", Json::array()}};
    if (report.devices.empty()) {
      backend["reason"] = report.reason;
      if (!json) fmt::print("  {:8} {}\n", name, report.reason);
    }
    for (const DeviceInfo& device : report.devices) {
      const std::string failure = test(device);
      backend["devices"].push_back(describe(device, failure));
      if (json) continue;
      fmt::print("{} {:8} {}\n", failure.empty() ? "✓" : " ", name, details(device));
      if (!failure.empty()) fmt::print("  {:8} not usable: {}\n", "", failure);
    }
    list.push_back(std::move(backend));
  }
  const std::vector<LibraryInfo> libraries = discover_libraries();
  const Json chosen = choice();
  if (json) {
    Json described = Json::array();
    for (const LibraryInfo& library : libraries) described.push_back(describe(library));
    const Json object = {{"backends", list}, {"libraries", described}, {"chosen", chosen}};
    fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("\n✓ means that a test program just gave the right answer there.\n");
    // What was skipped stands in the list already.
    const auto why = chosen["why"].get<std::string>();
    fmt::print("{}: {}.\n", chosen["backend"].is_null() ? "Programs cannot run" : "Programs run",
               why.substr(0, why.find("; ")));
    fmt::print("\nLibraries for products of matrices:\n");
    for (const LibraryInfo& library : libraries)
      fmt::print("  {:8} {}\n", library.name,
                 library.reason.empty() ? library.version + "; " + library.path : library.reason);
  }
  return 0;
}

}  // namespace hologram::tool
