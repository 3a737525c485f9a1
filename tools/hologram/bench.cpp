// hologram bench
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bars.hpp"
#include "command.hpp"
#include "competitors.hpp"
#include "crossover.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongWork = 1e9;  // operations of work that is timed a few times only
constexpr int kLongShare = 3;      // once where other work has so many rounds
constexpr int64_t kSizes[] = {1'000, 100'000, 10'000'000};
constexpr int64_t kCrossoverSizes[] = {1'000,   3'000,     10'000,    30'000,    100'000,
                                       300'000, 1'000'000, 3'000'000, 10'000'000};

struct Result {
  Workload work;
  std::vector<Competitor> competitors;  // tensors first
};

Result measure(const std::string& name, int64_t size, const BenchArguments& options,
               const Executor& executor, const Peers& peers, Worker* worker) {
  const std::unique_ptr<Field> field = make_field(name, size, executor, peers, worker);
  const bool is_long = field->work.by_flops && field->work.flops > kLongWork;
  run_rounds(field->competitors,
             {.rounds = is_long ? (options.rounds + kLongShare - 1) / kLongShare : options.rounds,
              .turn = options.turn_ms * 1e-3,
              .clock = options.processor_time ? Clock::Processor : Clock::Wall});
  return {std::move(field->work), std::move(field->competitors)};
}

double seconds_of(const Competitor& c, const BenchArguments& options) {
  return options.median ? c.median() : c.best();
}

// GB/s or GFLOP/s
double speed(const Workload& work, const Competitor& c, const BenchArguments& options) {
  const double seconds = seconds_of(c, options);
  return c.bytes > 0 ? c.bytes / seconds / 1e9 : work.speed(seconds);
}

Json json_of(const Result& r, const BenchArguments& options) {
  const Workload& work = r.work;
  const Competitor& own = r.competitors.front();
  Json row = {{"work", work.name},
              {"elements", work.inputs.front().size()},
              {"seconds", seconds_of(own, options)},
              {"best", own.best()},
              {"median", own.median()},
              {"rounds", own.rounds},
              {"bytes", work.bytes},
              {"flops", work.flops},
              {"speed", speed(work, own, options)},
              {"unit", work.unit()},
              {"peers", Json::array()}};
  for (size_t k = 1; k < r.competitors.size(); k++) {
    const Competitor& peer = r.competitors[k];
    const double theirs = speed(work, peer, options);
    row["peers"].push_back({{"name", peer.name},
                            {"best", peer.best()},
                            {"median", peer.median()},
                            {"rounds", peer.rounds},
                            {"speed", theirs},
                            {"ratio", speed(work, own, options) / theirs}});
  }
  return row;
}

void print(const Result& r, const BenchArguments& options) {
  const Competitor& own = r.competitors.front();
  const double ours = speed(r.work, own, options);
  fmt::print("{:16}{:>12}{:>11.1f} us{:>12.2f} {:8}", r.work.name, r.work.inputs.front().size(),
             seconds_of(own, options) * 1e6, ours, r.work.unit());
  for (size_t k = 1; k < r.competitors.size(); k++) {
    const double theirs = speed(r.work, r.competitors[k], options);
    fmt::print("  {} {:.1f} ({:.2f})", r.competitors[k].name, theirs, ours / theirs);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

BarGroup bars_of(const Result& r, const BenchArguments& options) {
  BarGroup group{
      fmt::format("{}, {} elements", r.work.name, r.work.inputs.front().size()), r.work.unit(), {}};
  for (const Competitor& c : r.competitors)
    group.bars.push_back({c.name, speed(r.work, c, options)});
  return group;
}

void draw(const BenchArguments& options, const std::string& title,
          const std::vector<BarGroup>& groups) {
  if (!options.svg.empty()) write_text(options.svg, svg_of(title, groups));
}

void show(const Json& all) {
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

int bench_crossover(const BenchArguments& options, const BackendConfig& config,
                    const Executor& device) {
  const std::string name(name_of(device.device().backend));
  if (device.device().backend == BackendType::Cpu)
    throw UsageError("--crossover compares a device with the CPU, and the device is the CPU",
                     "Name another by HOLOGRAM_BACKEND; `hologram devices` lists what there is.");
  BackendConfig host = config;
  host.backend_type = BackendType::Cpu;
  host.preference.clear();
  host.device_id = 0;
  const Executor cpu = Executor::from_config(host);
  const std::string title = fmt::format("{} {} beside {}, {} threads", name, device.device().name,
                                        cpu.device().name, cpu.device().compute_units);
  if (!options.json) {
    fmt::print(
        "{}\nFrom arrays of the host to one, in the best of some rounds; results are checked.\n",
        title);
    fmt::print("\n{:10}{:>12}{:>14}{:>14}{:>9}\n", "work", "elements", name, "cpu", "cpu/dev");
  }
  Json works = Json::array();
  std::vector<BarGroup> groups;
  for (const std::string& work : options.works) {
    std::vector<Crossing> sizes;
    for (const int64_t size : options.sizes)
      sizes.push_back(cross(work, size, device, cpu, options.rounds,
                            options.processor_time ? Clock::Processor : Clock::Wall));
    if (options.json) works.push_back(json_of(sizes));
    else print(sizes);
    for (BarGroup& group : bars_of(sizes, name)) groups.push_back(std::move(group));
  }
  if (options.json)
    show({{"backend", name}, {"device", device.device().name}, {"crossover", works}});
  draw(options, title, groups);
  return 0;
}

}  // namespace

int bench(BenchArguments options) {
  const std::vector<std::string> known = workload_names();
  for (const std::string& name : options.works)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(
          fmt::format("there is no work '{}' to time", name),
          fmt::format("Choose from {}.{}", fmt::join(known, ", "), suggestion(name, known)));
  // Not every device has f64.
  if (options.works.empty()) options.works = workload_names(!options.crossover, false);
  if (options.sizes.empty()) {
    if (options.crossover)
      options.sizes.assign(std::begin(kCrossoverSizes), std::end(kCrossoverSizes));
    else options.sizes.assign(std::begin(kSizes), std::end(kSizes));
  }
  if (options.crossover) std::sort(options.sizes.begin(), options.sizes.end());
  BackendConfig config = BackendConfig::from_environment();
  if (options.threads > 0) config.num_threads = options.threads;
  const Executor executor = Executor::from_config(config);
  if (options.crossover) return bench_crossover(options, config, executor);
  const Peers peers;
  const bool on_cpu = executor.device().backend == BackendType::Cpu;
  if (!options.json) {
    fmt::print("{} {}", name_of(executor.device().backend), executor.device().name);
    if (on_cpu) fmt::print(", {} threads", executor.device().compute_units);
    fmt::print("\nEvery result is checked, then timed: the {} of some rounds.\n",
               options.median ? "median" : "best");
    if (on_cpu && peers)
      fmt::print(
          "In turns with loops by hand for {} and others, on as many threads; in parentheses: the\n"
          "speed of tensors over theirs.\n",
          peers.target());
    else if (on_cpu)
      fmt::print(
          "`ninja -C build bench_peers` adds loops by hand, Eigen and oneDNN to compare with.\n");
    fmt::print("\n{:16}{:>12}{:>14}{:>12}\n", "work", "elements", "time", "speed");
  }
  Progress progress;  // nothing looks at it: a worker's folder must go, and that is all
  std::optional<Interrupt> interrupt;
  std::unique_ptr<Worker> worker;
  if (!options.beside.empty()) {
    interrupt.emplace(progress);
    const auto threads = static_cast<int>(executor.device().compute_units);
    worker = std::make_unique<Worker>(options.beside, threads);
  }
  Json rows = Json::array();
  std::vector<BarGroup> groups;
  for (const std::string& name : options.works)
    for (const int64_t size : options.sizes) {
      const Result result = measure(name, size, options, executor, peers, worker.get());
      if (options.json) rows.push_back(json_of(result, options));
      else print(result, options);
      groups.push_back(bars_of(result, options));
    }
  if (options.json) {
    Json all = {{"backend", name_of(executor.device().backend)},
                {"device", executor.device().name},
                {"threads", executor.device().compute_units},
                {"told", options.median ? "median" : "best"},
                {"rounds", options.rounds}};
    if (on_cpu && peers) all["peers"] = {{"loops", peers.target()}, {"versions", peers.versions()}};
    if (worker != nullptr) all["versions"] = worker->versions();
    all["rows"] = rows;
    show(all);
  }
  draw(options, fmt::format("{} {}", name_of(executor.device().backend), executor.device().name),
       groups);
  return 0;
}

}  // namespace hologram::tool
