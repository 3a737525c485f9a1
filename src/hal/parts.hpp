// A launch that has a deadline or may be cancelled, on a device that nobody can interrupt: it goes
// in parts, between which it is looked at.
#pragma once

#include <string>

#include "core/function_ref.hpp"
#include "hologram/error.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::hal {

// Workgroups of a launch, whatever its axes; 0 if one of them has none. GridTooLarge if there are
// more than 2^`bits`, which is what `counter` counts to.
uint64_t group_count(const std::string& program, const Grid& grid, int bits, const char* counter);

class Parts {
 public:
  struct Of {
    const std::string& program;
    const std::string& device;
    uint64_t total = 0, group_lanes = 0;  // workgroups, and lanes of each
    uint64_t least = 1, first = 1;        // workgroups of a part, and of the first one
  };
  enum class End { Done, Overdue, RanOut };

  // From here on the time runs that the launch has.
  Parts(const Launch& launch, const Of& of);

  // Rounds that no lane goes in that time, as none is faster than that, and no more than the launch
  // allows; of loops that count.
  uint64_t budget(double rounds_a_nanosecond) const;
  // `part` does these groups and tells how they ended: Overdue if the deadline or the wish to
  // cancel came first, RanOut if a loop went too often. Throws what that means to the user. The
  // time begins anew: whatever had to be made ready before is none of the program's.
  void run(core::FunctionRef<End(uint64_t first, uint64_t end, const Deadline& deadline)> part);
  double seconds() const { return seconds_; }  // that the last run took
  Error overdue() const;                       // what to throw where a part is

 private:
  Error timed_out() const;
  bool cancelled() const { return launch_.progress != nullptr && launch_.progress->cancel; }

  const Launch& launch_;
  const Of of_;
  const std::chrono::nanoseconds limit_;
  double seconds_ = 0;
};

}  // namespace hologram::hal
