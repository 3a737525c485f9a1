// hologram report: what a machine's devices do, in one file that can be sent.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bars.hpp"
#include "child.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "hologram/error.hpp"

#ifdef __APPLE__
extern char** environ;  // unistd.h has it elsewhere
#endif

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;           // of the file
constexpr size_t kMostFailed = 200;  // cases that are told in full

Json system_of() {
  utsname name = {};
  uname(&name);
  return {{"name", name.sysname},
          {"release", name.release},
          {"version", name.version},
          {"machine", name.machine}};
}

// Those of hologram and of the drivers that it opens: they change what is found.
Json settings() {
  constexpr std::string_view kPrefixes[] = {"HOLOGRAM_", "CUDA_",   "HIP_", "ROCR_",
                                            "HSA_",      "OCL_ICD", "MTL_", "VK_"};
  Json found = Json::object();
  for (char** entry = environ; *entry != nullptr; entry++) {
    const std::string_view text = *entry;
    for (const std::string_view prefix : kPrefixes)
      if (text.starts_with(prefix))
        found[std::string(text.substr(0, text.find('=')))] = text.substr(text.find('=') + 1);
  }
  return found;
}

// How a part ended, with its own words.
Json described(const Child& child, const ExitStatus& status) {
  std::string command = "hologram";
  for (const auto& [name, value] : child.environment)
    command = fmt::format("{}={} {}", name, value, command);
  for (const std::string& word : child.arguments) command += " " + word;
  Json part = {{"command", command}, {"ended", status.text()}, {"seconds", status.seconds}};
  if (!status.err.empty()) part["messages"] = status.err;
  return part;
}

Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

// Cases are counted, and told where they failed: a whole list would be megabytes.
Json shortened(const Json& report) {
  Json failed = Json::array();
  std::map<std::string, size_t> reasons;
  for (const Json& result : report["results"]) {
    const auto verdict = result["verdict"].get<std::string>();
    if (verdict == "failed" && failed.size() < kMostFailed) failed.push_back(result);
    if (verdict == "unsupported" || verdict == "skipped")
      reasons[verdict + ": " + result["reason"].get<std::string>()]++;
  }
  return {{"arithmetic", report["arithmetic"]},
          {"counts", report["counts"]},
          {"failed", failed},
          {"reasons", reasons}};
}

class Reporter {
 public:
  explicit Reporter(const ReportArguments& options) : options_(options) {
    all_ = {{"format", kFormat},     {"hologram", HOLOGRAM_VERSION}, {"complete", false},
            {"system", system_of()}, {"settings", settings()},       {"devices", Json::array()}};
    keep();
  }

  int report() {
    find();
    for (const Json& backend : all_["found"].value("backends", Json::array()))
      for (const Json& device : backend["devices"])
        if (wanted(backend["backend"], device["index"])) look_at(backend["backend"], device);
    if (!options_.devices.empty() && all_["devices"].empty())
      throw UsageError(
          fmt::format("none of the devices named is there: {}", fmt::join(options_.devices, ", ")),
          "`hologram devices` lists what is there.");
    all_["complete"] = true;
    keep();
    fmt::print(
        "\n{} says all of it. Look into it before you send it: it names this machine's\n"
        "devices, drivers and settings, and nothing else.\n",
        options_.output);
    return good_ ? 0 : 1;
  }

 private:
  // What has been seen so far stays, whatever comes.
  void keep() const {
    write_text(options_.output, all_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  // A part in a process of its own; its output, or what is no object where it broke off.
  Json part(Child child, Json& told) {
    child.limit_s = options_.limit_s;
    const ExitStatus status = run(child);
    told = described(child, status);
    return status.signal == 0 && !status.timed_out ? parsed(status.out) : Json();
  }

  void find() {
    Json told;
    const Json found = part({{"devices", "--json"}, {}}, told);
    all_["found"] = found.is_object() ? found : told;
    if (!found.is_object()) {
      good_ = false;
      fmt::print("devices: {}\n", told["ended"].get<std::string>());
    }
    keep();
  }

  bool wanted(const std::string& backend, int index) const {
    if (options_.devices.empty()) return backend != "null";
    for (const std::string& name : options_.devices)
      if (name == fmt::format("{}:{}", backend, index) || (name == backend && index == 0))
        return true;
    return false;
  }

  void look_at(const std::string& backend, const Json& device) {
    const int index = device["index"];
    fmt::print("{} {}  {}\n", backend, index, device["name"].get<std::string>());
    Json entry = {{"backend", backend}, {"index", index}, {"name", device["name"]}};
    if (device["works"].get<bool>()) {
      entry["trial"] = "passed";
      fmt::print("  trial: passed, arithmetic {}\n", device["numerics"].get<std::string>());
    } else {
      good_ = false;
      entry["trial"] = device["failure"];
      fmt::print("  trial: {}\n", device["failure"].get<std::string>());
    }
    std::fflush(stdout);
    all_["devices"].push_back(entry);
    keep();
    if (!device["works"].get<bool>()) return;
    conformance(backend, index);
    bench(backend, index);
  }

  void conformance(const std::string& backend, int index) {
    Json told;
    const Json found =
        part({{"conformance", "--json", "--device", fmt::format("{}:{}", backend, index),
               "--sample", std::to_string(options_.sample)},
              {}},
             told);
    std::string line = told["ended"];
    if (found.is_array() && found.size() == 1) {
      told.update(shortened(found[0]));
      const Json& counts = told["counts"];
      line = fmt::format("{} passed, {} failed, {} unsupported, {} skipped",
                         counts["passed"].get<int64_t>(), counts["failed"].get<int64_t>(),
                         counts["unsupported"].get<int64_t>(), counts["skipped"].get<int64_t>());
      good_ = good_ && counts["failed"] == 0;
    } else {
      good_ = false;
    }
    finish("conformance", told, fmt::format("one case in {}: {}", options_.sample, line));
  }

  void bench(const std::string& backend, int index) {
    Child child{{"bench", "--json", "--rounds", std::to_string(options_.rounds)},
                {{"HOLOGRAM_BACKEND", backend}, {"HOLOGRAM_DEVICE_ID", std::to_string(index)}}};
    // Before the options that take several words.
    child.arguments.insert(child.arguments.begin() + 1, options_.works.begin(),
                           options_.works.end());
    for (const int64_t size : options_.sizes)
      child.arguments.insert(child.arguments.end(), {"--size", std::to_string(size)});
    Json told;
    const Json found = part(child, told);
    std::string line = told["ended"];
    if (found.is_object()) {
      told["rows"] = found["rows"];
      line = fmt::format("{} timed, every result right", found["rows"].size());
    } else {
      good_ = false;
    }
    finish("bench", told, line);
  }

  void finish(const char* name, const Json& told, const std::string& line) {
    all_["devices"].back()[name] = told;
    keep();
    fmt::print("  {}: {} ({:.0f} s)\n", name, line, told["seconds"].get<double>());
    if (told.contains("messages") && told["ended"] != "exit code 0")
      fmt::print("{}\n", told["messages"].get<std::string>());
    std::fflush(stdout);
  }

  const ReportArguments& options_;
  Json all_;
  bool good_ = true;
};

}  // namespace

int report(const ReportArguments& options) { return Reporter(options).report(); }

}  // namespace hologram::tool
