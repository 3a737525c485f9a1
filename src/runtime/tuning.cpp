#include "runtime/tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "hologram/error.hpp"

namespace hologram::runtime {
namespace {

constexpr double kShortest = 1e-3;  // of what is timed as a whole
constexpr int kRounds = 3, kMostTimes = 1000;
constexpr double kHopeless = 3;    // times as slow, the first time: not timed further
constexpr double kWorthIt = 0.97;  // of the best so far: less than that is noise

// Nobody can go on with a device that is lost, or with work that was cancelled.
bool ends_all(const Error& error) {
  return error.kind() == ErrorKind::DeviceLost || error.kind() == ErrorKind::Cancelled;
}

class Search {
 public:
  Search(const TuningTask& task, const TuningLimits& limits, const std::function<double()>& clock)
      : task_(task), clock_(clock), end_(clock() + limits.seconds) {}

  bool late() const { return clock_() >= end_; }

  // Seconds of a run, unless it is clear that it takes longer than `best`.
  double time(size_t way, double best) const {
    run(way, 1);  // whatever happens once: compiling, memory
    if (late()) return INFINITY;
    double fastest = run(way, 1);
    if (fastest > kHopeless * best) return fastest;
    const int times =
        std::clamp(static_cast<int>(kShortest / std::max(fastest, 1e-9)), 1, kMostTimes);
    for (int round = 0; round < kRounds && !late(); round++)
      fastest = std::min(fastest, run(way, times) / times);
    return fastest;
  }

 private:
  double run(size_t way, int times) const {
    const double start = clock_();
    task_.run(way, times);
    return clock_() - start;
  }

  const TuningTask& task_;
  const std::function<double()>& clock_;
  const double end_;
};

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TuningResult search(const TuningTask& task, const TuningLimits& limits,
                    const std::function<double()>& clock) {
  const Search of(task, limits, clock);
  TuningResult result;
  result.seconds = result.first_seconds = of.time(0, INFINITY);
  result.tried = 1;
  const size_t ways = std::min(task.ways.size(), limits.ways);
  for (size_t way = 1; way < ways; way++) {
    // What was found by then counts.
    if (of.late() || std::isinf(result.first_seconds)) {
      result.in_time = false;
      break;
    }
    try {
      const double seconds = of.time(way, result.seconds);
      result.tried++;
      if (!(seconds < kWorthIt * result.seconds)) continue;
      if (!task.right(way)) {
        result.wrong++;
        continue;
      }
      result.way = way;
      result.seconds = seconds;
    } catch (const Error& error) {
      if (ends_all(error)) throw;
      result.failed++;
    }
  }
  return result;
}

}  // namespace hologram::runtime
