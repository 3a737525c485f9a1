// hologram estimate
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/memory_estimate.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

// The devices that may be chosen without being named, and the one that the settings lead to.
struct Places {
  std::vector<DeviceInfo> devices;
  std::optional<DeviceInfo> chosen;
  std::string why;
};

Places find_places(uint64_t bytes) {
  Places places;
  const std::vector<BackendType> automatic = backend_priority();
  for (const BackendReport& report : discover_backends())
    if (std::find(automatic.begin(), automatic.end(), report.type) != automatic.end())
      places.devices.insert(places.devices.end(), report.devices.begin(), report.devices.end());
  try {
    const Executor executor = Executor::automatic(bytes);
    places.chosen = executor.device();
    places.why = executor.why();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::OutOfMemory && e.kind() != ErrorKind::BackendUnavailable) throw;
    places.why = e.what();
  }
  return places;
}

void print_json(const MemoryEstimate& need, const Places& places) {
  Json devices = Json::array();
  for (const DeviceInfo& d : places.devices)
    devices.push_back({{"backend", name_of(d.backend)},
                       {"index", d.index},
                       {"name", d.name},
                       {"total_memory", d.total_memory},
                       {"free_memory", d.free_memory},
                       {"fits", d.free_memory >= need.total}});
  Json chosen = {{"backend", nullptr}, {"why", places.why}};
  if (places.chosen)
    chosen = {{"backend", name_of(places.chosen->backend)},
              {"index", places.chosen->index},
              {"why", places.why}};
  const Json object = {
      {"weights", need.weights}, {"kv_cache", need.kv_cache}, {"activations", need.activations},
      {"total", need.total},     {"devices", devices},        {"chosen", chosen}};
  fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_table(const MemoryEstimate& need, const Places& places) {
  const auto row = [](const char* what, uint64_t bytes) {
    fmt::print("{:12} {:>11}  {:>20} bytes\n", what, byte_text(static_cast<double>(bytes)), bytes);
  };
  row("weights", need.weights);
  row("kv cache", need.kv_cache);
  row("activations", need.activations);
  row("total", need.total);
  fmt::print("\n");
  for (const DeviceInfo& d : places.devices) {
    const bool fits = d.free_memory >= need.total;
    fmt::print("{} {:8} {}  {}: {} of {} free{}\n", fits ? "✓" : " ", name_of(d.backend), d.index,
               d.name, byte_text(static_cast<double>(d.free_memory)),
               byte_text(static_cast<double>(d.total_memory)),
               fits ? std::string()
                    : fmt::format(", {} too little",
                                  byte_text(static_cast<double>(need.total - d.free_memory))));
  }
  if (places.chosen)
    fmt::print("It fits on {} {}.\n", name_of(places.chosen->backend), places.chosen->index);
  else fmt::print("It fits nowhere: {}.\n", places.why);
}

}  // namespace

int estimate(const EstimateArguments& options) {
  const MemoryEstimate need = estimate_inference_memory(
      options.hidden, options.intermediate, options.layers, options.vocab, options.heads,
      options.kv_heads == 0 ? options.heads : options.kv_heads, options.max_seq,
      options.dtype_bytes);
  const Places places = find_places(need.total);
  if (options.json) print_json(need, places);
  else print_table(need, places);
  return 0;
}

}  // namespace hologram::tool
