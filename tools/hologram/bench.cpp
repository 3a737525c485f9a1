// hologram bench
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bars.hpp"
#include "command.hpp"
#include "crossover.hpp"
#include "errors.hpp"
#include "peers.hpp"
#include "spelling.hpp"
#include "workloads.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongWork = 1e9;  // operations of work that is timed a few times only
constexpr int kLongRounds = 3;
constexpr int64_t kSizes[] = {1'000, 100'000, 10'000'000};
constexpr int64_t kCrossoverSizes[] = {1'000,   3'000,     10'000,    30'000,    100'000,
                                       300'000, 1'000'000, 3'000'000, 10'000'000};

struct Options {
  std::vector<std::string> works;
  std::vector<int64_t> sizes;  // else those of kSizes, or of a crossover
  int rounds = 7;
  int threads = 0;
  bool processor_time = false;
  bool json = false;
  bool crossover = false;
  std::string svg;  // a path, or empty
};

// The library of peers, where it lies beside this program.
class Peers {
 public:
  Peers() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return;
    void* const library =
        dlopen((self.parent_path() / "libhologram_peers.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    there_ = find(of_, "hologram_peers_of") && find(target_, "hologram_peers_target") &&
             find(run_, "hologram_peers_run");
  }

  explicit operator bool() const { return there_; }
  const char* target() const { return target_(); }
  std::vector<HologramPeer> of(const Workload& work) const {
    std::vector<HologramPeer> list(kHologramMostPeers);
    list.resize(of_(std::string(work.name).c_str(), list.data()));
    if (work.by_flops || work.inputs.size() < 2) return list;
    HologramPeer triad;
    of_("triad", &triad);
    list.push_back(triad);
    return list;
  }
  void run(const HologramPeer& peer, const Workload& work, std::span<float> out,
           int threads) const {
    std::vector<const float*> in;
    for (const Array& array : work.inputs) in.push_back(array.as<float>().data());
    if (run_ == nullptr) return;
    if (peer.own_threads != 0)
      return peer.loop(in.data(), out.data(), 0, static_cast<size_t>(threads),
                       static_cast<size_t>(work.shape[1]));
    const auto columns = static_cast<size_t>(work.shape.size() > 1 ? work.shape.back() : 1);
    run_(peer.loop, in.data(), out.data(), work.inputs[0].size() / columns, columns,
         work.result.empty() ? 1 : 0, threads);
  }

 private:
  bool there_ = false;
  decltype(&hologram_peers_of) of_ = nullptr;
  decltype(&hologram_peers_target) target_ = nullptr;
  decltype(&hologram_peers_run) run_ = nullptr;
};

struct Result {
  Workload work;
  std::vector<Contestant> contestants;  // tensors first
};

Result measure(const std::string& name, int64_t size, const Options& options,
               const Executor& executor, const Peers& peers) {
  Result result{make_workload(name, size), {}};
  const Workload& work = result.work;
  std::vector<Tensor> inputs;
  for (const Array& array : work.inputs) inputs.push_back(Tensor::from(array, executor));
  refuse_mistake("tensors", work, work.compute(inputs).array().as<float>());
  std::vector<Contestant> contestants;
  contestants.push_back({.name = "tensors", .run = [&] {
                           work.compute(inputs).eval();
                           executor.synchronize();
                         }});
  std::vector<HologramPeer> list;
  if (peers && executor.device().backend == BackendType::Cpu) list = peers.of(work);
  std::vector<Array> results;
  results.reserve(list.size());
  const auto threads = static_cast<int>(executor.device().compute_units);
  for (const HologramPeer& peer : list) {
    const std::span<float> out = results.emplace_back(DType::F32, work.result).mutable_as<float>();
    peers.run(peer, work, out, threads);
    if (std::string_view(peer.name) != "triad") refuse_mistake(peer.name, work, out);
    contestants.push_back({.name = peer.name, .run = [&work, &peers, peer, out, threads] {
                             peers.run(peer, work, out, threads);
                           }});
  }
  race(contestants,
       work.by_flops && work.flops > kLongWork ? std::min(options.rounds, kLongRounds)
                                               : options.rounds,
       options.processor_time ? Clock::Processor : Clock::Wall);
  for (Contestant& c : contestants) c.run = nullptr;
  result.contestants = std::move(contestants);
  return result;
}

// GB/s or GFLOP/s; the triad moves twelve bytes an element, whatever it is the yardstick of.
double speed(const Workload& work, const Contestant& c) {
  if (c.name == "triad") return 12.0 * static_cast<double>(work.inputs[0].size()) / c.best / 1e9;
  return work.speed(c.best);
}

Json json_of(const Result& r) {
  const Workload& work = r.work;
  const Contestant& own = r.contestants.front();
  Json row = {{"work", work.name},   {"elements", work.inputs.front().size()},
              {"seconds", own.best}, {"bytes", work.bytes},
              {"flops", work.flops}, {"speed", speed(work, own)},
              {"unit", work.unit()}, {"peers", Json::array()}};
  for (size_t k = 1; k < r.contestants.size(); k++) {
    const double theirs = speed(work, r.contestants[k]);
    row["peers"].push_back(
        {{"name", r.contestants[k].name}, {"speed", theirs}, {"ratio", speed(work, own) / theirs}});
  }
  return row;
}

void print(const Result& r) {
  const double own = speed(r.work, r.contestants.front());
  fmt::print("{:10}{:>12}{:>11.1f} us{:>12.2f} {:8}", r.work.name, r.work.inputs.front().size(),
             r.contestants.front().best * 1e6, own, r.work.unit());
  for (size_t k = 1; k < r.contestants.size(); k++) {
    const double theirs = speed(r.work, r.contestants[k]);
    fmt::print("  {} {:.1f} ({:.2f})", r.contestants[k].name, theirs, own / theirs);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

BarGroup bars_of(const Result& r) {
  BarGroup group{
      fmt::format("{}, {} elements", r.work.name, r.work.inputs.front().size()), r.work.unit(), {}};
  for (const Contestant& c : r.contestants) group.bars.push_back({c.name, speed(r.work, c)});
  return group;
}

void draw(const Options& options, const std::string& title, const std::vector<BarGroup>& groups) {
  if (!options.svg.empty()) write_text(options.svg, svg_of(title, groups));
}

void show(const Json& all) {
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

int bench_crossover(const Options& options, const BackendConfig& config, const Executor& device) {
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

int bench(Options options) {
  const std::vector<std::string> known = workload_names();
  for (const std::string& name : options.works)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(
          fmt::format("there is no work '{}' to time", name),
          fmt::format("Choose from {}.{}", fmt::join(known, ", "), suggestion(name, known)));
  if (options.works.empty()) options.works = known;
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
    fmt::print("\nEvery result is checked, then timed: the best of some rounds.\n");
    if (on_cpu && peers)
      fmt::print(
          "In turns with loops by hand for {} and others, on as many threads; in parentheses: the\n"
          "speed of tensors over theirs.\n",
          peers.target());
    else if (on_cpu)
      fmt::print(
          "`ninja -C build bench_peers` adds loops by hand, Eigen and oneDNN to compare with.\n");
    fmt::print("\n{:10}{:>12}{:>14}{:>12}\n", "work", "elements", "time", "speed");
  }
  Json rows = Json::array();
  std::vector<BarGroup> groups;
  for (const std::string& name : options.works)
    for (const int64_t size : options.sizes) {
      const Result result = measure(name, size, options, executor, peers);
      if (options.json) rows.push_back(json_of(result));
      else print(result);
      groups.push_back(bars_of(result));
    }
  if (options.json) {
    const Json all = {{"backend", name_of(executor.device().backend)},
                      {"device", executor.device().name},
                      {"threads", executor.device().compute_units},
                      {"rows", rows}};
    show(all);
  }
  draw(options, fmt::format("{} {}", name_of(executor.device().backend), executor.device().name),
       groups);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "bench", "Time typical calculations with tensors, and check their results");
  sub->add_option("work", options->works,
                  fmt::format("Which: {}; all unless given", fmt::join(workload_names(), ", ")));
  sub->add_option("--size", options->sizes,
                  "Elements of an input; may be given several times; 1000, 100000 and 10000000 "
                  "unless given")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  sub->add_option("--rounds", options->rounds, "The best of so many is told; 7 unless given")
      ->check(CLI::Range(1, 1000));
  sub->add_option("--threads", options->threads,
                  "Of the CPU; as the configuration says unless given")
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--processor-time", options->processor_time,
                "Count what processors do for it, for a machine that does other work, too");
  sub->add_flag(
      "--crossover", options->crossover,
      "From which size on the device is faster than the CPU, with the transfers there and "
      "back; 1000 to 10000000 elements unless --size is given");
  sub->add_option("--svg", options->svg, "Draw the results as bars into this file, too");
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace hologram::tool
