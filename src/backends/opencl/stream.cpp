// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is started.
#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/opencl/session.hpp"
#include "core/messages.hpp"

namespace hologram::backends::opencl {
namespace {

using core::Text;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr size_t kMostPending = 64;
// Of a launch that is watched, parts of about this length are started at a time.
constexpr milliseconds kPart{20};
// How long to wait for a program that was told to stop.
constexpr milliseconds kGrace{500};
// No lane goes around a loop more often than this.
constexpr uint64_t kRoundsPerNanosecond = 4;

Memory* memory_of(const hal::Binding& binding) {
  return static_cast<const ClBuffer*>(binding.buffer)->memory();
}

uint64_t group_count(const std::string& program, const Grid& grid) {
  uint64_t total = 1;
  for (const uint64_t groups : grid)
    if (groups == 0) return 0;
  for (const uint64_t groups : grid)
    if (__builtin_mul_overflow(total, groups, &total))
      throw core::error(Text::GridTooLarge, program, "more than 2^64 workgroups", "a launch");
  return total;
}

}  // namespace

ClStream::~ClStream() {
  if (is_ending()) return;
  try {
    mark();
  } catch (const Error&) {
    // Nobody is left to tell; what has an event is waited for.
  }
  if (!pending_.empty()) {
    Event* const last = pending_.back().event.get();
    session_->api().clWaitForEvents(1, &last);
  }
}

void ClStream::launch(const hal::Launch& launch) {
  value_++;
  if (failure_ || broken_) return;
  const auto& program = static_cast<const ClProgram&>(*launch.executable);
  const uint64_t total = group_count(program.name(), launch.grid);
  session_->refuse_if_busy();
  if (total == 0) return;
  if (launch.timed != 0 && !session_->keeps_times()) {
    wait(submit(), {});
    session_->keep_times();
  }
  if (launch.deadline || launch.progress != nullptr || launch.budget > 0) {
    try {
      return watch(program, launch, total);
    } catch (...) {
      failure_ = std::current_exception();
      return;
    }
  }
  Part part{0, total};
  if (program.may_go_on()) part.stop = stop_word().memory();
  if (launch.timed != 0) timed_.push_back({launch.timed, program.enqueue_watched(launch, part), 0});
  else program.enqueue(launch, part);
  unmarked_ = true;
}

StopWord& ClStream::stop_word() {
  if (stop_ == nullptr) stop_ = std::make_unique<StopWord>(*session_);
  return *stop_;
}

void ClStream::watch(const ClProgram& program, const hal::Launch& launch, uint64_t total) {
  const DeviceInfo& info = session_->info();
  auto start = hal::Clock::now();
  const auto limit = launch.deadline ? *launch.deadline - start : nanoseconds(0);
  hal::Deadline deadline;
  const auto timed_out = [&] {
    return core::error(Text::ProgramTimeout, program.name(),
                       duration_cast<milliseconds>(limit + std::chrono::microseconds(500)).count(),
                       info.name);
  };
  const auto cancelled = [&] { return launch.progress != nullptr && launch.progress->cancel; };
  Part part;
  if (program.may_go_on()) {
    stop_word().clear(*session_);
    part.stop = stop_->memory();
    if (launch.deadline)
      part.budget =
          static_cast<uint64_t>(std::max<int64_t>(1, duration_cast<nanoseconds>(limit).count())) *
          kRoundsPerNanosecond;
    if (launch.budget > 0) {
      if (session_->sees_host())
        throw core::error(Text::ProgramRefused, program.name(), info.name,
                          "it does not count the rounds of loops");
      part.budget = std::min(part.budget, launch.budget);
    }
  }
  program.prepare(launch, part);
  start = hal::Clock::now();
  if (launch.deadline) deadline = start + limit;
  uint64_t step = uint64_t{program.groups()} * info.compute_units * 16;
  double seconds = 0;
  for (; part.first < total; part.first = part.end) {
    part.end = part.first + std::min(step, total - part.first);
    const auto began = hal::Clock::now();
    auto event = program.enqueue_watched(launch, part);
    session_->check(session_->api().clFlush(session_->queue()), "clFlush");
    if (!finish(event, deadline, launch.progress)) {
      const bool was_cancelled = cancelled();
      if (stop_ != nullptr && session_->sees_host()) stop_->raise();
      if (!finish(event, hal::Clock::now() + kGrace, nullptr))
        session_->give_up(std::move(event), std::exchange(stop_, nullptr), program.name());
      if (was_cancelled) throw core::error(Text::ProgramCancelled, program.name());
      throw timed_out();
    }
    if (part.stop != nullptr && stop_->raised(*session_)) {
      if (launch.budget > 0) throw core::error(Text::ProgramBudget, program.name(), launch.budget);
      throw timed_out();
    }
    if (launch.timed != 0) seconds += session_->seconds_of(event.get()).value_or(0);
    const auto took = hal::Clock::now() - began;
    if (launch.progress != nullptr)
      launch.progress->done += (part.end - part.first) * program.group_lanes();
    if (took < kPart / 2 && step < total) step *= 2;
    if (took > kPart * 2) step = std::max<uint64_t>(program.groups(), step / 2);
    if (part.end < total && cancelled()) throw core::error(Text::ProgramCancelled, program.name());
    if (part.end < total && deadline && hal::Clock::now() > *deadline) throw timed_out();
  }
  if (launch.timed != 0)
    timed_.push_back({launch.timed, session_->own<Event>(nullptr, nullptr), seconds});
}

std::vector<hal::Timing> ClStream::times(bool all) {
  if (all && !timed_.empty()) wait(submit(), {});
  std::vector<hal::Timing> known;
  for (; !timed_.empty(); timed_.pop_front()) {
    const Timed& first = timed_.front();
    Event* const event = first.event.get();
    if (event != nullptr && session_->status_of(event) > kComplete) break;
    const auto seconds = event == nullptr ? first.seconds : session_->seconds_of(event);
    if (seconds) known.push_back({first.number, *seconds});
  }
  return known;
}

// Waits until the event has come: false if the deadline or the wish to cancel came first.
bool ClStream::finish(const Owned<Event>& event, const hal::Deadline& deadline,
                      const Progress* progress) {
  const auto start = hal::Clock::now();
  for (;;) {
    const int32_t status = session_->status_of(event.get());
    if (status <= kComplete) {
      session_->check(status, "a kernel");
      return true;
    }
    const auto now = hal::Clock::now();
    if ((deadline && now > *deadline) || (progress != nullptr && progress->cancel)) return false;
    // There is no wait with an end to it.
    if (now - start > std::chrono::microseconds(50))
      std::this_thread::sleep_for(std::min<nanoseconds>((now - start) / 8, milliseconds(1)));
  }
}

void ClStream::copy(hal::Binding to, hal::Binding from) {
  value_++;
  if (failure_ || broken_ || from.size == 0) return;
  std::byte* const target = to.buffer->host();
  const std::byte* const source = from.buffer->host();
  if (target != nullptr && source != nullptr) {
    std::memcpy(target + to.offset, source + from.offset, from.size);
    return;
  }
  session_->refuse_if_busy();
  const Api& api = session_->api();
  Queue* const queue = session_->queue();
  // Blocking where the host has a part in it: its memory may go when this returns.
  if (source != nullptr)
    return session_->check(
        api.clEnqueueWriteBuffer(queue, memory_of(to), kTrue, to.offset, from.size,
                                 source + from.offset, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  if (target != nullptr)
    return session_->check(
        api.clEnqueueReadBuffer(queue, memory_of(from), kTrue, from.offset, from.size,
                                target + to.offset, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  session_->check(api.clEnqueueCopyBuffer(queue, memory_of(from), memory_of(to), from.offset,
                                          to.offset, from.size, 0, nullptr, nullptr),
                  "clEnqueueCopyBuffer");
  unmarked_ = true;
}

void ClStream::fill(hal::Binding where, uint32_t pattern) {
  value_++;
  const uint64_t bytes = where.size / sizeof pattern * sizeof pattern;
  if (failure_ || broken_ || bytes == 0) return;
  session_->refuse_if_busy();
  session_->check(
      session_->api().clEnqueueFillBuffer(session_->queue(), memory_of(where), &pattern,
                                          sizeof pattern, where.offset, bytes, 0, nullptr, nullptr),
      "clEnqueueFillBuffer");
  unmarked_ = true;
}

// A command with an event of its own has the device wait and write between it and the next:
// NVIDIA's takes 2 us for that, and the host another 2. The queue runs in order, so one event
// behind several commands tells of all of them.
void ClStream::mark() {
  if (!unmarked_) return;
  Event* event = nullptr;
  session_->check(
      session_->api().clEnqueueMarkerWithWaitList(session_->queue(), 0, nullptr, &event),
      "clEnqueueMarkerWithWaitList");
  unmarked_ = false;
  pending_.push_back({value_, session_->own(event, session_->api().clReleaseEvent)});
  if (pending_.size() < kMostPending) return;
  // Those that went well are forgotten; the queue runs in order.
  const auto left = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) {
    return session_->status_of(p.event.get()) != kComplete;
  });
  pending_.erase(pending_.begin(), left);
}

hal::Point ClStream::submit() {
  mark();
  if (!pending_.empty()) session_->check(session_->api().clFlush(session_->queue()), "clFlush");
  return {value_};
}

hal::State ClStream::wait(hal::Point point, hal::Deadline deadline) {
  if (broken_) std::rethrow_exception(broken_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const auto end = std::find_if(pending_.begin(), pending_.end(),
                                [&](const Pending& p) { return p.value > point.value; });
  if (end == pending_.begin()) return hal::State::Done;
  Event* const last = std::prev(end)->event.get();
  if (deadline) {
    if (!finish(std::prev(end)->event, deadline, nullptr)) return hal::State::Pending;
  } else {
    session_->api().clWaitForEvents(1, &last);
  }
  int32_t status = kComplete;
  for (auto p = pending_.begin(); p != end && status == kComplete; ++p)
    status = session_->status_of(p->event.get());
  pending_.erase(pending_.begin(), end);
  try {
    session_->check(status, "a kernel");
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  return hal::State::Done;
}

}  // namespace hologram::backends::opencl
