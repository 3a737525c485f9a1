// hologram conformance
#include "hologram/conformance.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

// Whether a case is one of so many, by its name: the same on every device.
bool drawn(const std::string& name, uint64_t of) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return (hash ^ hash >> 31) % of == 0;
}

Json json_of(const ConformanceReport& report) {
  Json results = Json::array();
  for (const ConformanceResult& r : report.results)
    results.push_back({{"name", r.name},
                       {"operation", r.operation},
                       {"dtype", name_of(r.dtype)},
                       {"verdict", name_of(r.verdict)},
                       {"reason", r.reason},
                       {"elements", r.elements},
                       {"observed", r.observed},
                       {"error", r.error},
                       {"bound", r.bound}});
  Json counts;
  for (const Verdict v : {Verdict::Passed, Verdict::Failed, Verdict::Unsupported, Verdict::Skipped})
    counts[std::string(name_of(v))] = report.count(v);
  return {{"backend", name_of(report.device.backend)},
          {"index", report.device.index},
          {"device", report.device.name},
          {"arithmetic", report.arithmetic},
          {"counts", counts},
          {"results", results}};
}

void print(const ConformanceReport& report) {
  fmt::print("{} {}  {}\n", name_of(report.device.backend), report.device.index,
             report.device.name);
  if (!report.arithmetic.empty()) fmt::print("  allowed for: {}\n", report.arithmetic);
  constexpr int kMostShown = 20;
  int shown = 0;
  std::map<std::string, size_t> reasons;
  for (const ConformanceResult& r : report.results) {
    if (r.verdict == Verdict::Failed && shown++ < kMostShown)
      fmt::print("  {}: {}\n", r.name, r.reason);
    if (r.verdict == Verdict::Unsupported || r.verdict == Verdict::Skipped)
      reasons[fmt::format("{}: {}", name_of(r.verdict), r.reason)]++;
  }
  if (shown > kMostShown) fmt::print("  and {} more\n", shown - kMostShown);
  for (const auto& [reason, count] : reasons) fmt::print("  {} {}\n", count, reason);
  fmt::print("  {} passed, {} failed, {} unsupported, {} skipped\n", report.count(Verdict::Passed),
             report.count(Verdict::Failed), report.count(Verdict::Unsupported),
             report.count(Verdict::Skipped));
}

}  // namespace

int conformance(const ConformanceArguments& options) {
  std::vector<Executor> executors;
  for (const std::string& device : options.devices)
    executors.push_back(Executor::from_config(parse_device(device)));
  if (executors.empty()) executors.emplace_back();
  bool good = true;
  size_t cases = 0;
  Json all = Json::array();
  for (const Executor& executor : executors) {
    const ConformanceReport report = check_conformance(
        executor,
        {options.filter, {}, [&](const std::string& name) { return drawn(name, options.sample); }});
    good = good && report.passed();
    cases += report.results.size();
    if (options.json) all.push_back(json_of(report));
    else print(report);
  }
  if (cases == 0 && options.sample == 1)
    throw UsageError(fmt::format("no case has '{}' in its name", options.filter),
                     "Names are as add/f32/transposed; --json lists them.");
  if (options.json) fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  return good ? 0 : 1;
}

}  // namespace hologram::tool
