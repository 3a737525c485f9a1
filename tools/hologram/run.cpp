// hologram run FILE.atlas name=value … -o out.png
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "progress.hpp"
#include "spelling.hpp"
#include "summary.hpp"

namespace hologram::tool {
namespace {

using program::Program;
using Json = nlohmann::ordered_json;

// One `hologram run`, from the file to the report.
class Job {
 public:
  explicit Job(const RunArguments& options)
      : options_(options),
        program_(Program::parse(read_text(options.file), options.file)),
        executor_(Executor::from_config(configuration(options))) {}

  int run() {
    const Interrupt interrupt(progress_);
    const auto given = parse_shapes(program_, options_.shapes);
    const auto paths = parse_output_paths(outputs_of(program_), options_.outputs);
    for (const auto& [name, path] : paths)
      if (path == options_.trace)
        throw UsageError(
            fmt::format("--trace and the output '{}' are the same file, {}", name, path),
            "Give each its own.");
    run_options_.shapes = given;
    run_options_.progress = &progress_;
    run_options_.report = &report_;
    if (!options_.grid.empty()) run_options_.grid = parse_grid(options_.grid);
    arguments_ = read_arguments(given);
    Interrupt::check();
    shapes_ = output_shapes(program_, arguments_, given);
    std::map<std::string, OutputInfo> known;
    for (const auto& [name, shape] : shapes_) known[name] = {type_of(name), shape};
    Outputs outputs(paths, known, {.bits = options_.bits, .linear = options_.linear});
    if (needs_strips() && outputs.streams()) run_tiled(outputs);
    else run_whole(outputs);
    if (!options_.trace.empty()) executor_.profile().save_trace(options_.trace);
    outputs.commit();
    print(outputs);
    return 0;
  }

 private:
  static BackendConfig configuration(const RunArguments& options) {
    BackendConfig config = BackendConfig::from_environment();
    config.enable_backend_profiling |= options.profile || !options.trace.empty();
    return config;
  }

  std::vector<Argument> read_arguments(const std::map<std::string, Shape>& given) {
    const ProgressBar bar("reading", [] { return -1.0; });
    return parse_arguments(program_, options_.arguments, given, options_.linear);
  }

  // Whether the arrays together are more than HOLOGRAM_CACHE_SIZE_MB allows.
  bool needs_strips() const {
    const uint64_t limit = executor_.config().cache_size_mb;
    uint64_t total = 0;
    for (const Argument& a : arguments_)
      if (const Array* array = std::get_if<Array>(&a.value)) total += array->bytes();
    for (const auto& p : program_.buffers()) {
      const bool passed = std::any_of(arguments_.begin(), arguments_.end(),
                                      [&](const Argument& a) { return a.name == p.name; });
      const auto shape = shapes_.find(p.name);
      if (!passed && shape != shapes_.end())
        total += static_cast<uint64_t>(count_of(shape->second)) * size_of(p.type);
    }
    return limit > 0 && total > limit << 20;
  }

  void take(Outputs& outputs, const std::string& name, const Array& rows) {
    if (outputs.wanted(name)) outputs.write(name, rows);
    else summaries_[name].add(rows);
  }

  void run_whole(Outputs& outputs) {
    std::map<std::string, Array> results;
    {
      const ProgressBar bar(program_.name(), [this] {
        const uint64_t total = progress_.total;
        return total == 0 ? 0.0 : static_cast<double>(progress_.done) / static_cast<double>(total);
      });
      results = executor_.run(program_, arguments_, run_options_);
    }
    const ProgressBar bar("writing", [&] { return outputs.fraction(); });
    for (const auto& [name, array] : results) {
      shapes_[name] = array.shape();
      take(outputs, name, array);
    }
  }

  void run_tiled(Outputs& outputs) {
    std::atomic<double> fraction{0};
    const ProgressBar bar(program_.name() + " by strips", [&] { return fraction.load(); });
    executor_.run_tiled(
        program_, arguments_,
        [&](const std::string& name, int64_t first_row, const Array& rows) {
          take(outputs, name, rows);
          const auto whole = static_cast<double>(std::max<int64_t>(1, shapes_.at(name)[0]));
          fraction = static_cast<double>(first_row + rows.shape()[0]) / whole;
        },
        run_options_);
  }

  DType type_of(const std::string& output) const {
    for (const auto& p : program_.buffers())
      if (p.name == output) return p.type;
    return DType::None;
  }

  void print(const Outputs& outputs) const {
    if (options_.json) return print_json(outputs);
    for (const std::string& name : output_names(program_)) {
      if (outputs.wanted(name)) continue;
      fmt::print("{}: {}{}, {}\n", name, name_of(type_of(name)), to_string(shapes_.at(name)),
                 summaries_.at(name).text());
    }
    if (options_.profile) print_profile();
  }

  void print_profile() const {
    const auto& g = report_.grid;
    const auto w = program_.workgroup();
    fmt::print("device   {} ({})\n", executor_.device().name, name_of(executor_.device().backend));
    fmt::print("time     {:.6f} s in {} launch{}\n", report_.seconds, report_.launches,
               report_.launches == 1 ? "" : "es");
    fmt::print("grid     {} x {} x {} workgroups of {} x {} x {} lanes\n", g[0], g[1], g[2], w[0],
               w[1], w[2]);
    fmt::print("{}", executor_.profile().table());
  }

  void print_json(const Outputs& outputs) const {
    Json object = {{"program", program_.name()},
                   {"backend", name_of(executor_.device().backend)},
                   {"device", executor_.device().name},
                   {"outputs", Json::array()}};
    for (const std::string& name : output_names(program_)) {
      Json o = {{"name", name}, {"dtype", name_of(type_of(name))}, {"shape", shapes_.at(name)}};
      if (outputs.wanted(name)) {
        o["file"] = outputs.paths().at(name);
      } else {
        summaries_.at(name).describe(o);
      }
      object["outputs"].push_back(std::move(o));
    }
    if (options_.profile) {
      const Profile profile = executor_.profile();
      const KernelProfile all = profile.kernels.empty() ? KernelProfile() : profile.kernels[0];
      object["profile"] = {{"seconds", report_.seconds},
                           {"launches", report_.launches},
                           {"grid", report_.grid},
                           {"workgroup", program_.workgroup()},
                           {"gigabytes_per_second", all.bytes_per_second() * 1e-9},
                           {"gigaflops_per_second", all.flops_per_second() * 1e-9},
                           {"loops_counted_once", all.least},
                           {"note", all.note}};
    }
    fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
  }

  const RunArguments& options_;
  Program program_;
  Executor executor_;
  Progress progress_;
  RunReport report_;
  RunOptions run_options_;
  std::vector<Argument> arguments_;
  std::map<std::string, Shape> shapes_;  // of the outputs
  std::map<std::string, Summary> summaries_;
};

}  // namespace

int run(const RunArguments& options) { return Job(options).run(); }

}  // namespace hologram::tool
