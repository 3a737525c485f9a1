#include "runner.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>
#include <random>
#include <thread>

namespace hologram::tool {
namespace {

// Worker threads stay a while with whom they worked for last, and so do caches.
constexpr auto kHandOver = std::chrono::milliseconds(10);
constexpr double kWarm = 1e-2;  // seconds: programs that are run often are compiled
constexpr double kLong = 3e-2;  // seconds: what was in caches before does not count
constexpr int kMostTimes = 100'000;

double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::Wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const Competitor& competitor, int times, Clock clock) {
  if (competitor.timed) return competitor.timed(times, clock);
  const double start = now(clock);
  for (int k = 0; k < times; k++) competitor.run();
  return now(clock) - start;
}

int times_within(double seconds, double once) {
  return static_cast<int>(std::clamp(seconds / std::max(once, 1e-9), 1.0, double{kMostTimes}));
}

// Seconds of one run, after whatever happens once, and then some.
double warm(const Competitor& competitor, const Course& course) {
  seconds_of(competitor, 1, Clock::Wall);
  const double once = seconds_of(competitor, 1, Clock::Wall);
  const int times = times_within(std::max(kWarm, course.turn), once);
  return times == 1 ? once : seconds_of(competitor, times, Clock::Wall) / times;
}

}  // namespace

double Competitor::best() const { return *std::min_element(rounds.begin(), rounds.end()); }

double Competitor::median() const {
  std::vector<double> sorted = rounds;
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

void run_rounds(std::vector<Competitor>& competitors, const Course& course) {
  std::vector<double> once;
  once.reserve(competitors.size());
  for (const Competitor& c : competitors) once.push_back(warm(c, course));
  std::vector<size_t> order(competitors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::minstd_rand random(1);
  for (int round = 0; round < course.rounds; round++) {
    // What one leaves behind for the next, such as inputs in a cache, comes to everybody in turn.
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      std::this_thread::sleep_for(kHandOver);
      if (once[i] < kLong)  // until caches are its own again
        seconds_of(competitors[i], times_within(course.turn / 2, once[i]), course.clock);
      const int times = times_within(course.turn, once[i]);
      competitors[i].rounds.push_back(seconds_of(competitors[i], times, course.clock) / times);
    }
  }
}

}  // namespace hologram::tool
