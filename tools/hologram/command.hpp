// The subcommands: what the command line asks of each, and its work. Each stands in a file of its
// own; the result is the exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::tool {

// In `show --dialect`: as all GPUs' languages have it.
inline constexpr std::string_view kEveryDialect = "all";

struct BenchArguments {
  std::vector<std::string> works;
  std::vector<int64_t> sizes;  // else some of all orders, or of a crossover
  int rounds = 7;
  double turn_ms = 2;
  int threads = 0;
  bool median = false;
  bool processor_time = false;
  bool json = false;
  bool crossover = false;
  std::string beside;  // a command, or empty
  std::string svg;     // a path, or empty
};

struct ConformanceArguments {
  std::vector<std::string> devices;
  std::string filter;
  uint64_t sample = 1;
  bool json = false;
};

struct EstimateArguments {
  int64_t hidden = 0, intermediate = 0, layers = 0, vocab = 0, heads = 0, kv_heads = 0;
  int64_t max_seq = 0, dtype_bytes = 4;
  bool json = false;
};

struct EvalArguments {
  std::vector<std::string> words, outputs;
  std::string file, trace;
  int bits = 8;
  uint64_t seed = 0;
  bool explain = false, json = false, profile = false, linear = false;
};

struct RunArguments {
  std::string file;
  std::vector<std::string> arguments, outputs, shapes;
  std::string grid, trace;
  int bits = 8;
  bool json = false, profile = false, linear = false;
};

struct ShowArguments {
  std::string expression;
  std::vector<std::string> words;
  std::string dialect;
  bool source = false, optimized = false, json = false;
};

int bench(BenchArguments options);
int conformance(const ConformanceArguments& options);
int devices(bool json);
int run(const RunArguments& options);
int eval(const EvalArguments& options);
int show(const ShowArguments& options);
int estimate(const EstimateArguments& options);
// usage: the text of `hologram COMMAND --help`, empty where there is no such command.
int help(const std::string& topic, const std::function<std::string(const std::string&)>& usage);

// All of that: what main has been given, read and done. Throws a UsageError for what makes no
// sense.
int run_command_line(int argc, char** argv);

}  // namespace hologram::tool
