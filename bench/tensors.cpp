// bench_tensors [--threads N] [--rounds N] [--only NAME] [--json]: tensors beside what does the
// same work: a hand-written loop over vectors with the same polynomials, Eigen where it is
// installed, and the bandwidth of memory as a + 3 * b has it. All on as many threads, in turns in
// one process; every result is checked before it is timed. A ratio above 1 says that tensors are
// faster.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/parallel.hpp"
#include "hologram/hologram.hpp"
#include "loops.hpp"
#include "tools/hologram/workloads.hpp"
#ifdef HOLOGRAM_BENCH_EIGEN
#include "eigen.hpp"
#endif

namespace {

using namespace hologram;
using loops::Loop;
using tool::Contestant;
using tool::Workload;

constexpr int64_t kSizes[] = {1'000, 100'000, 10'000'000};
constexpr size_t kLanesWorthAThread = 8192;

struct Options {
  int threads = 0, rounds = 15;
  std::string only;
  tool::Clock clock = tool::Clock::Wall;
  bool json = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const auto is = [&](const char* name, int values) {
      return std::strcmp(argv[i], name) == 0 && i + values < argc;
    };
    if (is("--threads", 1)) options.threads = std::atoi(argv[++i]);
    else if (is("--rounds", 1)) options.rounds = std::max(1, std::atoi(argv[++i]));
    else if (is("--only", 1)) options.only = argv[++i];
    else if (is("--processor-time", 0)) options.clock = tool::Clock::Processor;
    else if (is("--json", 0)) options.json = true;
    else {
      fmt::print(stderr,
                 "usage: bench_tensors [--threads N] [--rounds N] [--only NAME] "
                 "[--processor-time] [--json]\n");
      std::exit(2);
    }
  }
  return options;
}

struct Peer {
  const char* name;
  Loop loop;
};

std::vector<Peer> peers_of(std::string_view work) {
  struct Row {
    std::string_view work;
    Loop (*by_hand)();
    Loop (*by_eigen)();
  };
#ifdef HOLOGRAM_BENCH_EIGEN
#define EIGEN(name) eigen::name
#else
#define EIGEN(name) nullptr
#endif
  static constexpr Row kPeers[] = {
      {"add", loops::add, EIGEN(add)},
      {"fma", loops::fma, EIGEN(fma)},
      {"sigmoid", loops::sigmoid, EIGEN(sigmoid)},
      {"twelve", loops::twelve, EIGEN(twelve)},
      {"sum", loops::sum, EIGEN(sum)},
      {"row-sums", loops::row_sums, EIGEN(row_sums)},
      {"softmax", loops::softmax, EIGEN(softmax)},
      {"matmul", nullptr, EIGEN(matmul)},
  };
#undef EIGEN
  std::vector<Peer> peers;
  for (const Row& row : kPeers) {
    if (row.work != work) continue;
    if (row.by_hand != nullptr) peers.push_back({"loop", row.by_hand()});
    if (row.by_eigen != nullptr) peers.push_back({"Eigen", row.by_eigen()});
  }
  return peers;
}

// A loop over all of the work, on several threads.
void run_loop(const Workload& work, Loop loop, std::span<float> out, core::Threads& threads) {
  std::vector<const float*> in;
  for (const Array& array : work.inputs) in.push_back(array.as<float>().data());
  const bool rows = work.shape.size() > 1;
  const auto columns = static_cast<size_t>(rows ? work.shape.back() : 1);
  const size_t count = work.inputs[0].size() / columns;
  const size_t grain = std::max<size_t>(1, kLanesWorthAThread / columns);
  if (!work.result.empty()) {
    threads.run(count, grain, [&](uint64_t begin, uint64_t end) {
      loop(in.data(), out.data(), begin, end, columns);
    });
    return;
  }
  std::mutex mutex;
  float sum = 0;
  threads.run(count, grain, [&](uint64_t begin, uint64_t end) {
    float part = 0;
    loop(in.data(), &part, begin, end, columns);
    const std::lock_guard lock(mutex);
    sum += part;
  });
  out[0] = sum;
}

struct Result {
  Workload work;
  std::vector<Contestant> contestants;  // tensors first
};

Result measure(std::string_view name, int64_t n, const Executor& executor, const Options& options,
               core::Threads& threads) {
  Result result{tool::make_workload(name, n), {}};
  const Workload& work = result.work;
  std::vector<Tensor> inputs;
  for (const Array& array : work.inputs) inputs.push_back(Tensor::from(array, executor));
  if (const std::string wrong = tool::mistake(work, work.compute(inputs).array().as<float>());
      !wrong.empty())
    throw std::runtime_error("tensors, " + wrong);
  std::vector<Contestant> contestants;
  contestants.push_back({"tensors", [&] { work.compute(inputs).eval(); }});

  std::vector<Array> results;
  std::vector<Peer> peers = peers_of(name);
  if (!work.by_flops && work.inputs.size() > 1) peers.push_back({"triad", loops::triad()});
  results.reserve(peers.size());
  for (const Peer& peer : peers) {
    const std::span<float> out = results.emplace_back(DType::F32, work.result).mutable_as<float>();
    run_loop(work, peer.loop, out, threads);
    const std::string wrong =
        std::string_view(peer.name) == "triad" ? "" : tool::mistake(work, out);
    if (!wrong.empty()) throw std::runtime_error(std::string(peer.name) + ", " + wrong);
    contestants.push_back({peer.name, [&work, &threads, out, loop = peer.loop] {
                             run_loop(work, loop, out, threads);
                           }});
  }
  tool::race(contestants,
             work.flops > 1e9 && work.by_flops ? std::min(options.rounds, 3) : options.rounds,
             options.clock);
  result.contestants = std::move(contestants);
  for (Contestant& c : result.contestants) c.run = nullptr;
  return result;
}

// GB/s or GFLOP/s; the triad moves twelve bytes an element, whatever it is the yardstick of.
double speed(const Workload& work, const Contestant& c) {
  if (c.name == "triad") return 12.0 * static_cast<double>(work.inputs[0].size()) / c.best / 1e9;
  return work.speed(c.best);
}

nlohmann::ordered_json json_of(const Result& r) {
  nlohmann::ordered_json row = {{"work", r.work.name},
                                {"elements", r.work.inputs[0].size()},
                                {"unit", r.work.unit()},
                                {"speed", {}},
                                {"ratio", {}}};
  const double own = speed(r.work, r.contestants[0]);
  for (const Contestant& c : r.contestants) {
    row["speed"][c.name] = speed(r.work, c);
    if (&c != r.contestants.data()) row["ratio"][c.name] = own / speed(r.work, c);
  }
  return row;
}

void print(const Result& r) {
  const double own = speed(r.work, r.contestants[0]);
  fmt::print("{:9}{:>10}{:>10.2f} us{:>8.1f} {:8}", r.work.name, r.work.inputs[0].size(),
             r.contestants[0].best * 1e6, own, r.work.unit());
  for (size_t k = 1; k < r.contestants.size(); k++) {
    const Contestant& c = r.contestants[k];
    fmt::print("  {} {:.1f} ({:.2f})", c.name, speed(r.work, c), own / speed(r.work, c));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int run(const Options& options) {
  const Executor executor =
      Executor::builder().backend(BackendType::Cpu).threads(options.threads).build();
  const int count = static_cast<int>(executor.device().compute_units);
  core::Threads threads(count);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!options.json)
    fmt::print("{}, {} threads, loops for {}; in parentheses: speed of tensors / of the peer\n",
               executor.device().name, count, loops::target());
  for (const std::string& name : tool::workload_names()) {
    if (!options.only.empty() && name != options.only) continue;
    for (const int64_t n : kSizes) {
      const Result result = measure(name, n, executor, options, threads);
      if (options.json) rows.push_back(json_of(result));
      else print(result);
    }
  }
  if (options.json) {
    const nlohmann::ordered_json all = {
        {"device", executor.device().name}, {"threads", count}, {"rows", rows}};
    fmt::print("{}\n", all.dump(2));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const hologram::Error& e) {
    fmt::print(stderr, "bench_tensors: {}\n  {}\n", e.what(), e.remedy());
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_tensors: {}\n", e.what());
  }
  return 1;
}
