// How long the bilateral filter takes as an Atlas program and as a plain C++ loop compiled with
// -O3 -march=native, both with the same threads, in turns in one process. Prints the ratio of the
// best times and the largest difference of the results; exit code 1 if that is above 1/255.
//
//   bench_bilateral [--full] [--rounds N] [--size WIDTH HEIGHT] [--limit RATIO] [--json]
//
// --full: 6000 x 4000 instead of 1500 x 1000. --limit: exit code 1 if Atlas takes longer than that
// many times the plain loop. --json: nothing but the best times, in seconds.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "bilateral_plain.hpp"
#include "hologram/hologram.hpp"

namespace {

using hologram::Array;
using hologram::Executor;
using hologram::Program;

constexpr float kSigmaSpace = 4.0f, kSigmaRange = 0.08f;

struct Options {
  int width = 1500, height = 1000, rounds = 3;
  double limit = INFINITY;
  bool json = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const auto is = [&](const char* name, int values) {
      return std::strcmp(argv[i], name) == 0 && i + values < argc;
    };
    if (is("--full", 0)) {
      options.width = 6000;
      options.height = 4000;
    } else if (is("--rounds", 1)) {
      options.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (is("--size", 2)) {
      options.width = std::max(1, std::atoi(argv[++i]));
      options.height = std::max(1, std::atoi(argv[++i]));
    } else if (is("--limit", 1)) {
      options.limit = std::atof(argv[++i]);
    } else if (is("--json", 0)) {
      options.json = true;
    } else {
      fmt::print(stderr,
                 "usage: bench_bilateral [--full] [--rounds N] [--size WIDTH HEIGHT] "
                 "[--limit RATIO] [--json]\n");
      std::exit(2);
    }
  }
  return options;
}

Program example(const std::string& name) {
  std::ifstream file(HOLOGRAM_EXAMPLES "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return Program::parse(text.str(), name);
}

// Wall time, and processor time of all threads, which other programs disturb less.
struct Time {
  double wall = INFINITY, cpu = INFINITY;
  void keep_best(const Time& other) {
    wall = std::min(wall, other.wall);
    cpu = std::min(cpu, other.cpu);
  }
};

Time time_of(const auto& work) {
  const std::clock_t cpu = std::clock();
  const auto start = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

int run(const Options& options) {
  const int w = options.width, h = options.height;
  const Executor executor;
  const int threads = static_cast<int>(executor.device().compute_units);
  const auto say = [&]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
    if (!options.json) fmt::print(text, std::forward<Args>(args)...);
  };
  say("{} x {} pixels, sigma_space {}, sigma_range {}\n", w, h, kSigmaSpace, kSigmaRange);
  say("{}, {} threads\n", executor.device().name, threads);

  const Array scene = executor.run(example("scene.atlas"), {{"w", w}, {"h", h}}).at("picture");
  const Program program = example("atlas/bilateral.atlas");
  Array atlas(hologram::DType::F32, scene.shape()), plain(hologram::DType::F32, scene.shape());
  Time best_atlas, best_plain;
  for (int round = 0; round < options.rounds; round++) {
    const Time a = time_of([&] {
      executor.run(program, {{"src", scene},
                             {"dst", atlas},
                             {"sigma_space", kSigmaSpace},
                             {"sigma_range", kSigmaRange}});
    });
    const Time p = time_of([&] {
      plain::bilateral(scene.as<float>().data(), plain.mutable_as<float>().data(), h, w,
                       kSigmaSpace, kSigmaRange, threads);
    });
    say("  Atlas {:.3f} s, plain C++ {:.3f} s\n", a.wall, p.wall);
    best_atlas.keep_best(a);
    best_plain.keep_best(p);
  }
  double worst = 0;
  const auto x = atlas.as<float>(), y = plain.as<float>();
  for (size_t i = 0; i < x.size(); i++) {
    const double error = std::abs(double{x[i]} - double{y[i]});
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  const double ratio = best_atlas.wall / best_plain.wall;
  say("best time      Atlas {:.3f} s, plain C++ {:.3f} s, ratio {:.2f}\n", best_atlas.wall,
      best_plain.wall, ratio);
  say("processor time Atlas {:.3f} s, plain C++ {:.3f} s, ratio {:.2f}\n", best_atlas.cpu,
      best_plain.cpu, best_atlas.cpu / best_plain.cpu);
  if (options.json)
    fmt::print("{{\"hologram\": {}, \"plain C++\": {}}}\n", best_atlas.wall, best_plain.wall);
  say("largest difference {:.2g}, allowed {:.2g}\n", worst, 1.0 / 255);
  return worst <= 1.0 / 255 && ratio <= options.limit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const hologram::Error& e) {
    fmt::print(stderr, "bench_bilateral: {}\n  {}\n", e.what(), e.remedy());
    return 1;
  }
}
