// The subcommands: what the command line asks of each, and its work. Each stands in a file of its
// own; the result is the exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::llm {
struct GenerateOptions;
struct Generation;
struct ModelOptions;
}  // namespace hologram::llm

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

struct BisectArguments {
  std::string what;  // a program's file, an expression's, or an expression
  std::vector<std::string> arguments, shapes;
  std::string device, grid, prefix = "bisect";
  bool no_nan = false, json = false;
};

struct ConformanceArguments {
  std::vector<std::string> devices;
  std::string filter;
  uint64_t sample = 1;
  bool json = false;
};

struct ReportArguments {
  std::vector<std::string> devices, works;
  std::vector<int64_t> sizes = {1'000, 1'000'000};
  std::string output = "hologram-report.json";
  uint64_t sample = 100;
  int rounds = 3;
  int limit_s = 600;  // of each part
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
  bool explain = false, candidates = false, json = false, profile = false, linear = false;
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

// Of generate and chat.
struct LanguageArguments {
  std::string model, prompt, system;
  int64_t max_tokens = 128, context = 0, top_k = 40;
  double temperature = 0.8, top_p = 0.95, min_p = 0.05, repetition_penalty = 1;
  uint64_t seed = 0;
  std::vector<std::string> stop, adapters;
  std::string receipt, activations;
  bool greedy = false, raw = false, json = false, full_cache = false;
};
struct ServeArguments {
  std::string model, host = "127.0.0.1", name, activations;
  int port = 8080;
  int64_t context = 0, parallel = 8, cache_tokens = 0, max_tokens = 1024, queue = 64;
  int64_t max_body = 4 << 20, clients = 64, timeout = 600;
  bool full_cache = false, reproducible = false;
};
llm::GenerateOptions generate_options(const LanguageArguments& options);
llm::ModelOptions model_options(const LanguageArguments& options);
std::string speed_line(const llm::Generation& generation);

struct EmbedArguments {
  std::string model, pooling, lines;
  std::vector<std::string> texts;
  bool unscaled = false, truncate = false, json = false;
};

struct QuantizeArguments {
  std::string in, out, to = "q4_k";
  std::vector<std::string> tensors;
  bool json = false;
};

struct VerifyArguments {
  std::string receipt, model, device;
  bool json = false;
};

int bench(BenchArguments options);
int bisect(const BisectArguments& options);
int conformance(const ConformanceArguments& options);
int report(const ReportArguments& options);
int devices(bool json);
int run(const RunArguments& options);
int eval(const EvalArguments& options);
int show(const ShowArguments& options);
int estimate(const EstimateArguments& options);
int generate(const LanguageArguments& options);
int chat(const LanguageArguments& options);
int embed(const EmbedArguments& options);
int verify(const VerifyArguments& options);
int quantize(const QuantizeArguments& options);
int serve(const ServeArguments& options);
// usage: the text of `hologram COMMAND --help`, empty where there is no such command.
int help(const std::string& topic, const std::function<std::string(const std::string&)>& usage);

// All of that: what main has been given, read and done. Throws a UsageError for what makes no
// sense.
int run_command_line(int argc, char** argv);

}  // namespace hologram::tool
