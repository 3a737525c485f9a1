// bench_llm MODEL DEVICE [TOKENS [AT_A_TIME…]]: tokens a second of so many answers at a time,
// greedily, by an Engine: 256 tokens of 1, 4 and 16 unless said. Decoding is what comes while all
// answers have begun and none has ended, by calls of on_text; the other number has the prompts in
// it. With HOLOGRAM_ENABLE_PROFILING=1 each is followed by the kernels of its steps, whose launches
// then come one by one.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/hologram.hpp"
#include "hologram/llm.hpp"

namespace {

using namespace hologram;
using Clock = std::chrono::steady_clock;

struct Speed {
  double tokens = 0, seconds = 0;
  double decoding = 0;  // tokens a second
};

// When the texts of each answer came.
using Times = std::vector<std::vector<Clock::time_point>>;

double decoding_of(const Times& texts) {
  Clock::time_point begin = Clock::time_point::min(), end = Clock::time_point::max();
  for (const auto& times : texts) {
    if (times.empty()) return 0;
    begin = std::max(begin, times.front());
    end = std::min(end, times.back());
  }
  double count = 0;
  for (const auto& times : texts)
    for (const Clock::time_point time : times) count += time > begin && time <= end ? 1 : 0;
  return begin < end ? count / std::chrono::duration<double>(end - begin).count() : 0;
}

Speed answered(const llm::Model& model, llm::Engine& engine, int64_t tokens, int at_a_time) {
  static int prompts = 0;
  std::vector<std::future<llm::Generation>> answers;
  Times texts(static_cast<size_t>(at_a_time));
  for (auto& times : texts) times.reserve(static_cast<size_t>(tokens));
  const auto begin = Clock::now();
  for (int i = 0; i < at_a_time; i++) {
    std::string prompt;
    for (int word = 0; word < 16; word++) prompt += fmt::format("word {} ", prompts++ * 31 % 977);
    llm::GenerateOptions options;
    options.max_tokens = tokens;
    options.sampling.greedy = true;
    auto& times = texts[static_cast<size_t>(i)];
    options.on_text = [&times](std::string_view) {
      times.push_back(Clock::now());
      return true;
    };
    answers.push_back(engine.submit(model.tokenize(prompt), std::move(options)));
  }
  Speed speed;
  for (auto& answer : answers) speed.tokens += static_cast<double>(answer.get().tokens.size());
  speed.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  speed.decoding = decoding_of(texts);
  return speed;
}

// Of a step, those that took longest first.
void print_kernels(const Profile& before, const Profile& after, double steps) {
  struct Row {
    std::string kernel;
    double launches, seconds;
  };
  std::vector<Row> rows;
  double all = 0;
  for (const KernelProfile& kernel : after.kernels) {
    Row row{kernel.kernel, static_cast<double>(kernel.launches), kernel.seconds};
    for (const KernelProfile& earlier : before.kernels)
      if (earlier.kernel == kernel.kernel) {
        row.launches -= static_cast<double>(earlier.launches);
        row.seconds -= earlier.seconds;
      }
    all += row.seconds;
    if (row.launches > 0) rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  fmt::print("    {:9.1f} us a step\n", 1e6 * all / steps);
  constexpr size_t kMost = 16;
  for (size_t i = 0; i < std::min(rows.size(), kMost); i++)
    fmt::print("    {:9.1f} us {:7.1f}x {}\n", 1e6 * rows[i].seconds / steps,
               rows[i].launches / steps, rows[i].kernel);
}

int measure(const std::vector<std::string>& arguments) {
  const int64_t tokens = arguments.size() > 2 ? std::stoll(arguments[2]) : 256;
  std::vector<int> counts;
  for (size_t i = 3; i < arguments.size(); i++) counts.push_back(std::stoi(arguments[i]));
  if (counts.empty()) counts = {1, 4, 16};
  const Executor executor = Executor::builder().backend(arguments[1]).build();
  llm::ModelOptions options;
  options.context = tokens + 512;
  options.sequences = 16;
  options.cache_tokens = 16 * options.context;
  const llm::Model model = llm::Model::open(arguments[0], options, executor);
  llm::Engine engine(model);
  double alone = 0;
  const bool profiled = executor.config().enable_backend_profiling;
  for (const int count : counts) {
    answered(model, engine, tokens, count);  // what is compiled and captured the first time
    const Profile before = profiled ? executor.profile() : Profile();
    const Speed speed = answered(model, engine, tokens, count);
    if (alone == 0) alone = speed.decoding / count;
    fmt::print(
        "{:3} at a time {:9.1f} tokens/s, {:5.2f} times one, {:.2f} ms a step; {:.1f} with "
        "prompts\n",
        count, speed.decoding, speed.decoding / alone, 1e3 * count / speed.decoding,
        speed.tokens / speed.seconds);
    if (profiled) print_kernels(before, executor.profile(), speed.tokens / count);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) return fmt::print(stderr, "bench_llm MODEL DEVICE [TOKENS [AT_A_TIME…]]\n"), 2;
    return measure({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_llm: {}\n", error.what());
    return 1;
  }
}
