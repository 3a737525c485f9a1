// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is put together and started by submit.
#include <algorithm>
#include <cstring>

#include "backends/webgpu/program.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Of a launch that is watched, parts of about this length are started at a time.
constexpr milliseconds kPart{20};
// How long to wait for a program that is over its time.
constexpr milliseconds kGrace{500};
// No lane goes around a loop more often than this, on a GPU and in software.
constexpr int64_t kNanosecondsARound = 1, kNanosecondsASoftRound = 4;
constexpr uint64_t kFirstBlocks = 128;

GpuBuffer* buffer_of(const hal::Binding& binding) {
  return static_cast<const WgBuffer*>(binding.buffer)->buffer();
}

uint64_t group_count(const WgProgram& program, const Grid& grid) {
  uint64_t total = 1;
  for (const uint64_t groups : grid)
    if (groups == 0) return 0;
  for (const uint64_t groups : grid)
    if (__builtin_mul_overflow(total, groups, &total) || total > program.most_groups())
      throw core::error(Text::GridTooLarge, program.name(), "more than 2^32 workgroups", "WebGPU");
  return total;
}

}  // namespace

void WgStream::launch(const hal::Launch& launch) {
  value_++;
  if (failure_ || broken_) return;
  const auto& program = static_cast<const WgProgram&>(*launch.executable);
  const uint64_t total = group_count(program, launch.grid);
  session_->refuse_if_busy();
  if (total == 0) return;
  if (launch.deadline || launch.progress != nullptr || launch.budget > 0) {
    try {
      return watch(program, launch, total);
    } catch (...) {
      failure_ = std::current_exception();
      return;
    }
  }
  Part part{0, total};
  if (program.may_go_on()) part.stop = stop_word().buffer();
  program.launch(launch, part);
}

StopWord& WgStream::stop_word() {
  if (stop_ == nullptr) stop_ = std::make_unique<StopWord>(*session_);
  return *stop_;
}

void WgStream::watch(const WgProgram& program, const hal::Launch& launch, uint64_t total) {
  auto start = hal::Clock::now();
  const auto limit = launch.deadline ? *launch.deadline - start : nanoseconds(0);
  const auto timed_out = [&] {
    return core::error(Text::ProgramTimeout, program.name(),
                       duration_cast<milliseconds>(limit + std::chrono::microseconds(500)).count(),
                       session_->info().name);
  };
  const auto cancelled = [&] { return launch.progress != nullptr && launch.progress->cancel; };
  Part part;
  if (program.may_go_on()) {
    stop_word().clear();
    part.stop = stop_->buffer();
    const int64_t round = session_->info().software ? kNanosecondsASoftRound : kNanosecondsARound;
    if (launch.deadline)
      part.budget = static_cast<uint64_t>(std::max<int64_t>(1, nanoseconds(limit).count() / round));
    if (launch.budget > 0) part.budget = std::min(part.budget, launch.budget);
  }
  // Drivers compile at the first launch; one of no groups is no time of the program's.
  program.launch(launch, part);
  session_->wait(session_->submit(), {}, nullptr);
  session_->check();
  start = hal::Clock::now();
  hal::Deadline deadline;
  if (launch.deadline) deadline = start + limit;
  uint64_t step = program.groups() * kFirstBlocks;
  for (; part.first < total; part.first = part.end) {
    part.end = part.first + std::min(step, total - part.first);
    const auto began = hal::Clock::now();
    program.launch(launch, part);
    const Awaited done = session_->submit();
    if (!session_->wait(done, deadline, launch.progress)) {
      const bool was_cancelled = cancelled();
      if (!session_->wait(done, hal::Clock::now() + kGrace, nullptr))
        session_->give_up(done, program.name());
      if (was_cancelled) throw core::error(Text::ProgramCancelled, program.name());
      throw timed_out();
    }
    session_->check();
    if (part.stop != nullptr && stop_->raised()) {
      if (launch.budget > 0) throw core::error(Text::ProgramBudget, program.name(), launch.budget);
      throw timed_out();
    }
    const auto took = hal::Clock::now() - began;
    if (launch.progress != nullptr)
      launch.progress->done += (part.end - part.first) * program.group_lanes();
    if (took < kPart / 2 && step < total) step *= 2;
    if (took > kPart * 2) step = std::max<uint64_t>(program.groups(), step / 2);
    if (part.end < total && cancelled()) throw core::error(Text::ProgramCancelled, program.name());
    if (part.end < total && deadline && hal::Clock::now() > *deadline) throw timed_out();
  }
}

void WgStream::copy(hal::Binding to, hal::Binding from) {
  value_++;
  if (failure_ || broken_ || from.size == 0) return;
  std::byte* const target = to.buffer->host();
  const std::byte* const source = from.buffer->host();
  if (target != nullptr && source != nullptr) {
    std::memcpy(target + to.offset, source + from.offset, from.size);
    return;
  }
  session_->refuse_if_busy();
  if (source != nullptr)
    return session_->write(buffer_of(to), to.offset, source + from.offset, from.size);
  if (target != nullptr)
    return session_->read(target + to.offset, buffer_of(from), from.offset, from.size);
  session_->copy(buffer_of(to), to.offset, buffer_of(from), from.offset, from.size);
}

void WgStream::fill(hal::Binding where, uint32_t pattern) {
  value_++;
  const uint64_t bytes = where.size / sizeof pattern * sizeof pattern;
  if (failure_ || broken_ || bytes == 0) return;
  session_->refuse_if_busy();
  session_->fill(buffer_of(where), where.offset, bytes, pattern);
}

hal::Point WgStream::submit() {
  if (value_ > submitted_ && !failure_ && !broken_)
    pending_.push_back({value_, session_->submit()});
  submitted_ = value_;
  return {value_};
}

hal::State WgStream::wait(hal::Point point, hal::Deadline deadline) {
  if (broken_) std::rethrow_exception(broken_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const auto end = std::find_if(pending_.begin(), pending_.end(),
                                [&](const Pending& p) { return p.value > point.value; });
  try {
    if (end != pending_.begin()) {
      if (!session_->wait(std::prev(end)->done, deadline, nullptr)) return hal::State::Pending;
      pending_.erase(pending_.begin(), end);
    }
    session_->check();
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  return hal::State::Done;
}

}  // namespace hologram::backends::webgpu
