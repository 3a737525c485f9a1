// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is started.
#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/opencl/session.hpp"
#include "core/messages.hpp"
#include "hal/parts.hpp"

namespace hologram::backends::opencl {
namespace {

using core::Text;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr size_t kMostPending = 64;
// How long to wait for a program that was told to stop.
constexpr milliseconds kGrace{500};
// No lane goes around a loop more often than this.
constexpr double kRoundsANanosecond = 4;

Memory* memory_of(const hal::Binding& binding) {
  return static_cast<const ClBuffer*>(binding.buffer)->memory();
}

Order::Use use_of(const hal::Binding& binding, bool written) {
  return {memory_of(binding), binding.offset, binding.offset + binding.size, written};
}

}  // namespace

ClStream::~ClStream() {
  if (is_ending()) return;
  try {
    mark();
  } catch (const Error&) {
    // Nobody is left to tell; what has an event is waited for.
  }
  for (const Pending& pending : pending_)
    for (const Session::Mark& mark : pending.marks)
      if (Event* const event = mark.event.get(); event != nullptr)
        session_->api().clWaitForEvents(1, &event);
}

void ClStream::launch(const hal::Launch& launch) {
  value_++;
  if (failure_ || broken_) return;
  const auto& program = static_cast<const ClProgram&>(*launch.executable);
  const uint64_t total = hal::group_count(program.name(), launch.grid, 64, "a launch");
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
  else {
    program.uses(launch, uses_);
    enqueue([&](Queue* queue) { program.enqueue(queue, launch, part, nullptr); });
    return;
  }
  unmarked_[Order::kMain] = true;
}

// A command whose uses are there.
void ClStream::enqueue(core::FunctionRef<void(Queue*)> command) {
  unmarked_[session_->start(uses_, command)] = true;
}

StopWord& ClStream::stop_word() {
  if (stop_ == nullptr) stop_ = std::make_unique<StopWord>(*session_);
  return *stop_;
}

void ClStream::watch(const ClProgram& program, const hal::Launch& launch, uint64_t total) {
  const DeviceInfo& info = session_->info();
  hal::Parts parts(launch, {.program = program.name(),
                            .device = info.name,
                            .total = total,
                            .group_lanes = program.group_lanes(),
                            .least = program.groups(),
                            .first = uint64_t{program.groups()} * info.compute_units * 16});
  Part part;
  if (program.may_go_on()) {
    if (launch.budget > 0 && session_->sees_host())
      throw core::error(Text::ProgramRefused, program.name(), info.name,
                        "it does not count the rounds of loops");
    stop_word().clear(*session_);
    part.stop = stop_->memory();
    part.budget = parts.budget(kRoundsANanosecond);
  }
  program.prepare(launch, part);
  double seconds = 0;
  parts.run([&](uint64_t first, uint64_t end, const hal::Deadline& deadline) {
    using End = hal::Parts::End;
    part.first = first;
    part.end = end;
    auto event = program.enqueue_watched(launch, part);
    session_->check(session_->api().clFlush(session_->queue()), "clFlush");
    if (!finish(event, deadline, launch.progress)) {
      if (stop_ != nullptr && session_->sees_host()) stop_->raise();
      if (!finish(event, hal::Clock::now() + kGrace, nullptr))
        session_->give_up(std::move(event), std::exchange(stop_, nullptr), program.name());
      return End::Overdue;
    }
    if (part.stop != nullptr && stop_->raised(*session_)) return End::RanOut;
    if (launch.timed != 0) seconds += session_->seconds_of(event.get()).value_or(0);
    return End::Done;
  });
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
  // Blocking where the host has a part in it: its memory may go when this returns.
  if (source != nullptr)
    return session_->check(
        api.clEnqueueWriteBuffer(session_->queue(), memory_of(to), kTrue, to.offset, from.size,
                                 source + from.offset, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  if (target != nullptr)
    return session_->check(
        api.clEnqueueReadBuffer(session_->queue(), memory_of(from), kTrue, from.offset, from.size,
                                target + to.offset, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  uses_ = {use_of(from, false), use_of(to, true)};
  enqueue([&](Queue* queue) {
    session_->check(api.clEnqueueCopyBuffer(queue, memory_of(from), memory_of(to), from.offset,
                                            to.offset, from.size, 0, nullptr, nullptr),
                    "clEnqueueCopyBuffer");
  });
}

void ClStream::fill(hal::Binding where, uint32_t pattern) {
  value_++;
  const uint64_t bytes = where.size / sizeof pattern * sizeof pattern;
  if (failure_ || broken_ || bytes == 0) return;
  session_->refuse_if_busy();
  uses_ = {use_of(where, true)};
  enqueue([&](Queue* queue) {
    session_->check(
        session_->api().clEnqueueFillBuffer(queue, memory_of(where), &pattern, sizeof pattern,
                                            where.offset, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  });
}

void ClStream::mark() {
  if (!unmarked_[Order::kMain] && !unmarked_[Order::kAside]) return;
  Pending now{value_, {}};
  for (size_t queue = 0; queue < unmarked_.size(); queue++)
    if (unmarked_[queue]) now.marks[queue] = session_->mark(queue);
  unmarked_ = {};
  pending_.push_back(std::move(now));
  if (pending_.size() < kMostPending) return;
  // Those that went well are forgotten.
  const auto left = std::find_if(pending_.begin(), pending_.end(),
                                 [&](const Pending& p) { return status_of(p) != kComplete; });
  pending_.erase(pending_.begin(), left);
}

// What an event that failed says, or one that is under way, or that all is complete.
int32_t ClStream::status_of(const Pending& pending) const {
  int32_t all = kComplete;
  for (const Session::Mark& mark : pending.marks) {
    if (mark.event == nullptr) continue;
    const int32_t status = session_->status_of(mark.event.get());
    if (status < kComplete) return status;
    all = std::max(all, status);
  }
  return all;
}

hal::Point ClStream::submit() {
  mark();
  if (!pending_.empty())
    for (const size_t queue : {Order::kMain, Order::kAside})
      if (pending_.back().marks[queue].event != nullptr) session_->flush(queue);
  return {value_};
}

hal::State ClStream::wait(hal::Point point, hal::Deadline deadline) {
  if (broken_) std::rethrow_exception(broken_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const auto end = std::find_if(pending_.begin(), pending_.end(),
                                [&](const Pending& p) { return p.value > point.value; });
  if (end == pending_.begin()) return hal::State::Done;
  for (auto p = pending_.begin(); p != end; ++p)
    for (const Session::Mark& mark : p->marks) {
      Event* const event = mark.event.get();
      if (event == nullptr) continue;
      if (!deadline) session_->api().clWaitForEvents(1, &event);
      else if (!finish(mark.event, deadline, nullptr)) return hal::State::Pending;
    }
  int32_t status = kComplete;
  for (auto p = pending_.begin(); p != end && status == kComplete; ++p) {
    status = status_of(*p);
    for (size_t queue = 0; queue < p->marks.size(); queue++)
      if (p->marks[queue].event != nullptr) session_->ended(queue, p->marks[queue].given);
  }
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
