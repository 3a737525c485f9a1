// hologram eval 'EXPR' name=file … -o out.npy
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "command.hpp"
#include "errors.hpp"
#include "eval_inputs.hpp"
#include "eval_report.hpp"
#include "hologram/creation.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

class Job {
 public:
  explicit Job(const EvalArguments& options)
      : options_(options),
        expression_(parse(options)),
        executor_(Executor::from_config(configuration(options))) {}

  int run() {
    const Interrupt interrupt(progress_);
    paths_ = parse_output_paths(output_names(), options_.outputs);
    for (const auto& [name, path] : paths_)
      if (path == options_.trace)
        throw UsageError(fmt::format("--trace and the output '{}' are the same file", path),
                         "Give each its own.");
    for (const auto& [name, path] : paths_) wanted_.push_back(name);
    if (wanted_.empty()) wanted_ = {expression_.last()};
    ops::seed(options_.seed, executor_);
    std::vector<std::string> arguments = options_.words;
    if (options_.file.empty()) arguments.erase(arguments.begin());
    {
      const ProgressBar bar("reading", [] { return -1.0; });
      inputs_ = read_inputs(expression_, arguments, options_.linear);
    }
    Interrupt::check();
    const uint64_t before = executor_.counters().launches;
    const auto start = std::chrono::steady_clock::now();
    Outputs outputs(paths_, {}, {.bits = options_.bits, .linear = options_.linear});
    const uint64_t limit = executor_.config().cache_size_mb << 20;
    const bool finished = limit > 0 && inputs_.bytes() > limit && outputs.streams()
                              ? by_rows(outputs, limit)
                              : at_once(outputs, limit);
    if (!finished) return 0;
    report_.launches = executor_.counters().launches - before;
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!options_.trace.empty()) executor_.profile().save_trace(options_.trace);
    outputs.commit();
    print();
    return 0;
  }

 private:
  static Expression parse(const EvalArguments& options) {
    if (!options.file.empty()) return Expression::parse(read_text(options.file), options.file);
    if (options.words.empty())
      throw UsageError("there is no expression", "Write hologram eval 'a + b' a=FILE b=FILE.");
    return Expression::parse(options.words.front());
  }

  static BackendConfig configuration(const EvalArguments& options) {
    BackendConfig config = BackendConfig::from_environment();
    config.enable_backend_profiling |= options.profile || !options.trace.empty();
    return config;
  }

  OutputNames output_names() const {
    OutputNames known{"the expression", {}, expression_.last()};
    for (const std::string& name : expression_.outputs())
      if (!name.empty()) known.names.push_back(name);
    return known;
  }

  void take(Outputs& outputs, const std::string& name, const Shape& whole, const Array& rows) {
    const auto result = results_.try_emplace(name, Result(OutputInfo{rows.dtype(), whole})).first;
    if (!outputs.wanted(name)) return result->second.add(rows);
    outputs.open(name, {rows.dtype(), whole});
    outputs.write(name, rows);
  }

  // Whether there was something to do; false where it was only explained.
  bool at_once(Outputs& outputs, uint64_t limit) {
    std::map<std::string, Tensor> values;
    uint64_t bytes = inputs_.bytes();
    {
      const auto all = expression_.evaluate(inputs_.all(executor_), executor_);
      for (const std::string& name : wanted_)
        for (const auto& [output, tensor] : all)
          if (output == name) values.emplace(name, tensor);
    }
    std::vector<Tensor> work;
    for (const auto& [name, tensor] : values) {
      work.push_back(tensor);
      bytes += static_cast<uint64_t>(tensor.size()) * size_of(tensor.dtype());
    }
    if (options_.explain) {
      fmt::print("{}", hologram::explain(work, {.candidates = options_.candidates}));
      return false;
    }
    if (limit > 0 && bytes > limit && outputs.streams() && !inputs_.sources.empty()) {
      values.clear();
      work.clear();
      return by_rows(outputs, limit);
    }
    for (const auto& [name, tensor] : values)
      if (outputs.wanted(name)) outputs.open(name, {tensor.dtype(), tensor.shape()});
    {
      const ProgressBar bar("computing", [] { return -1.0; });
      eval(work);
    }
    work.clear();
    Interrupt::check();
    const ProgressBar bar("writing", [&] { return outputs.fraction(); });
    for (const std::string& name : wanted_) {
      const auto node = values.extract(name);
      take(outputs, name, node.mapped().shape(), node.mapped().array());
    }
    return true;
  }

  bool by_rows(Outputs& outputs, uint64_t limit) {
    const auto sources = inputs_.large_sources(limit);
    // Nothing that could be read in pieces: it may fit all the same.
    if (sources.empty()) return at_once(outputs, 0);
    if (options_.explain) {
      fmt::print("By pieces of rows: HOLOGRAM_CACHE_SIZE_MB is {}, the inputs have {}.\n",
                 limit >> 20, byte_text(static_cast<double>(inputs_.bytes())));
      return false;
    }
    std::atomic<double> fraction{0};
    const ProgressBar bar("by pieces", [&] { return fraction.load(); });
    const auto report = expression_.evaluate_by_rows(
        inputs_.without(sources, executor_), sources, wanted_,
        [&](const std::string& name, const Shape& whole, int64_t, const Array& rows) {
          take(outputs, name, whole, rows);
        },
        {.bytes = limit,
         .progress =
             [&](double part) {
               Interrupt::check();
               fraction = part;
             }},
        executor_);
    report_.pieces = report.pieces;
    report_.passes = report.passes;
    return true;
  }

  void print() const {
    if (options_.json) {
      auto json = results_as_json(results_, paths_, report_, executor_);
      if (options_.profile) {
        const Profile profile = executor_.profile();
        for (const KernelProfile& k : profile.kernels)
          json["kernels"].push_back({{"kernel", k.kernel},
                                     {"launches", k.launches},
                                     {"seconds", k.seconds},
                                     {"gigabytes_per_second", k.bytes_per_second() * 1e-9},
                                     {"gigaflops_per_second", k.flops_per_second() * 1e-9},
                                     {"note", k.note}});
      }
      fmt::print("{}\n",
                 json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      return;
    }
    print_results(results_, paths_);
    if (!options_.profile) return;
    fmt::print("device   {} ({})\n", executor_.device().name, name_of(executor_.device().backend));
    fmt::print("time     {:.6f} s in {} launch{}\n", report_.seconds, report_.launches,
               report_.launches == 1 ? "" : "es");
    fmt::print("{}", executor_.profile().table());
  }

  const EvalArguments& options_;
  Expression expression_;
  Executor executor_;
  Progress progress_;
  EvalInputs inputs_;
  std::map<std::string, std::string> paths_;
  std::vector<std::string> wanted_;
  std::map<std::string, Result> results_;
  EvalReport report_;
};

}  // namespace

int eval(const EvalArguments& options) { return Job(options).run(); }

}  // namespace hologram::tool
