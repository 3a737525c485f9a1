#include "hal/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"

namespace hologram::hal {
namespace {

using core::Text;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Parts of about this length are done at a time.
constexpr milliseconds kPart{20};

}  // namespace

uint64_t group_count(const std::string& program, const Grid& grid, int bits, const char* counter) {
  const uint64_t most = bits < 64 ? uint64_t{1} << bits : UINT64_MAX;
  uint64_t total = 1;
  for (const uint64_t groups : grid)
    if (groups == 0) return 0;
  for (const uint64_t groups : grid)
    if (__builtin_mul_overflow(total, groups, &total) || total > most)
      throw core::error(Text::GridTooLarge, program, fmt::format("more than 2^{} workgroups", bits),
                        counter);
  return total;
}

Parts::Parts(const Launch& launch, const Of& of)
    : launch_(launch),
      of_(of),
      limit_(launch.deadline ? *launch.deadline - Clock::now() : nanoseconds(0)) {}

uint64_t Parts::budget(double rounds_a_nanosecond) const {
  uint64_t rounds = UINT64_MAX;
  if (launch_.deadline)
    rounds = static_cast<uint64_t>(
        std::max(1.0, static_cast<double>(limit_.count()) * rounds_a_nanosecond));
  return launch_.budget > 0 ? std::min(rounds, launch_.budget) : rounds;
}

Error Parts::timed_out() const {
  return core::error(Text::ProgramTimeout, of_.program,
                     duration_cast<milliseconds>(limit_ + std::chrono::microseconds(500)).count(),
                     of_.device);
}

Error Parts::overdue() const {
  return cancelled() ? core::error(Text::ProgramCancelled, of_.program) : timed_out();
}

void Parts::run(core::FunctionRef<End(uint64_t, uint64_t, const Deadline&)> part) {
  const auto start = Clock::now();
  Deadline deadline;
  if (launch_.deadline) deadline = start + limit_;
  uint64_t step = of_.first;
  for (uint64_t first = 0, end = 0; first < of_.total; first = end) {
    end = first + std::min(step, of_.total - first);
    const auto began = Clock::now();
    const End how = part(first, end, deadline);
    if (how == End::Overdue) throw overdue();
    if (how == End::RanOut && launch_.budget > 0)
      throw core::error(Text::ProgramBudget, of_.program, launch_.budget);
    if (how != End::Done) throw timed_out();
    const auto took = Clock::now() - began;
    if (launch_.progress != nullptr) launch_.progress->done += (end - first) * of_.group_lanes;
    if (took < kPart / 2 && step < of_.total) step *= 2;
    if (took > kPart * 2) step = std::max(of_.least, step / 2);
    if (end < of_.total && cancelled()) throw core::error(Text::ProgramCancelled, of_.program);
    if (end < of_.total && deadline && Clock::now() > *deadline) throw timed_out();
  }
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace hologram::hal
