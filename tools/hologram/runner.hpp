// Ways of doing the same work, timed in turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hologram::tool {

enum class Clock {
  Wall,
  Processor,  // of all threads together: on a machine that does other work, too
};

struct Competitor {
  std::string name;
  std::function<void()> run;
  // Seconds of so many runs: of one that keeps its own time, in another process, instead of `run`.
  std::function<double(int times, Clock clock)> timed = {};
  double bytes = 0;                 // that a yardstick moves; 0: as much as the work
  std::vector<double> rounds = {};  // seconds of one run, in each

  double best() const;
  double median() const;
};

struct Course {
  int rounds = 7;
  double turn = 2e-3;  // seconds: shorter work is repeated for so long in each round
  Clock clock = Clock::Wall;
};

// Rounds in which each has its turn, so that what else the machine does hits all of them alike.
void run_rounds(std::vector<Competitor>& competitors, const Course& course);

}  // namespace hologram::tool
