// hologram bench
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "errors.hpp"
#include "spelling.hpp"
#include "workloads.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongWork = 1e9;  // operations of work that is timed a few times only
constexpr int kLongRounds = 3;

struct Options {
  std::vector<std::string> works;
  std::vector<int64_t> sizes = {1'000, 100'000, 10'000'000};
  int rounds = 7;
  bool json = false;
};

struct Time {
  Workload work;
  double seconds;
};

Time measure(const std::string& name, int64_t size, int rounds, const Executor& executor) {
  Workload work = make_workload(name, size);
  std::vector<Tensor> inputs;
  for (const Array& array : work.inputs) inputs.push_back(Tensor::from(array, executor));
  if (const std::string wrong = mistake(work, work.compute(inputs).array().as<float>());
      !wrong.empty())
    throw Error(ErrorKind::DeviceLost, "a wrong result: " + wrong,
                "Do not rely on this device; `hologram devices` checks it, too.");
  std::vector<Contestant> one;
  one.push_back({.name = name, .run = [&] { work.compute(inputs).eval(); }});
  race(one, work.flops > kLongWork ? std::min(rounds, kLongRounds) : rounds);
  return {std::move(work), one.front().best};
}

int bench(const Options& options) {
  const std::vector<std::string> known = workload_names();
  for (const std::string& name : options.works)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(
          fmt::format("there is no work '{}' to time", name),
          fmt::format("Choose from {}.{}", fmt::join(known, ", "), suggestion(name, known)));
  const Executor executor;
  if (!options.json) {
    fmt::print("{} {}\nEvery result is checked, then timed: the best of some rounds.\n\n",
               name_of(executor.device().backend), executor.device().name);
    fmt::print("{:10}{:>12}{:>14}{:>12}\n", "work", "elements", "time", "speed");
  }
  Json rows = Json::array();
  for (const std::string& name : options.works.empty() ? known : options.works)
    for (const int64_t size : options.sizes) {
      const auto [work, seconds] = measure(name, size, options.rounds, executor);
      const size_t elements = work.inputs.front().size();
      if (options.json)
        rows.push_back({{"work", name},
                        {"elements", elements},
                        {"seconds", seconds},
                        {"bytes", work.bytes},
                        {"flops", work.flops},
                        {"speed", work.speed(seconds)},
                        {"unit", work.unit()}});
      else
        fmt::print("{:10}{:>12}{:>11.1f} us{:>12.2f} {}\n", name, elements, seconds * 1e6,
                   work.speed(seconds), work.unit());
    }
  if (options.json) {
    const Json all = {{"backend", name_of(executor.device().backend)},
                      {"device", executor.device().name},
                      {"rows", rows}};
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  }
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
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace hologram::tool
