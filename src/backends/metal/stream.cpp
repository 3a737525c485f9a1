// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is put together and committed by submit.
#include <algorithm>
#include <cstring>

#include "backends/metal/program.hpp"
#include "hal/parts.hpp"

namespace hologram::backends::metal {
namespace {

// How long to wait for a program that is over its time.
constexpr std::chrono::milliseconds kGrace{500};
constexpr double kRoundsANanosecond = 1;  // no lane goes around a loop more often than this
constexpr uint64_t kFirstBlocks = 128;
constexpr size_t kMostTimed = 256;

constexpr const char* kFill =
    "program fill(out y: u32[n], value: u32) lanes(n) {\n"
    "  i = global_id.x\n  if i < n { y[i] = value }\n}";

}  // namespace

// What is under way keeps its memory, but for the word that it leaves behind.
MetalStream::~MetalStream() = default;

void MetalStream::note(uint64_t number) {
  if (pending_.empty() || pending_.back().number != number)
    pending_.push_back({number, value_, value_});
  pending_.back().last = value_;
}

void MetalStream::launch(const hal::Launch& launch) {
  value_++;
  if (failure_ || broken_) return;
  const auto& program = static_cast<const MetalProgram&>(*launch.executable);
  const uint64_t total = hal::group_count(program.name(), launch.grid, 64, "a launch");
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
  if (program.may_go_on()) part.stop = &stop_word();
  if (launch.timed == 0) return note(program.launch(launch, part));
  // Times are those of a command buffer, so that it has one of its own.
  session_->submit();
  const uint64_t number = program.launch(launch, part);
  session_->keep_time(number);
  timed_.push_back({launch.timed, number, 0});
  note(number);
  session_->submit();
}

void MetalStream::watch(const MetalProgram& program, const hal::Launch& launch, uint64_t total) {
  hal::Parts parts(launch, {.program = program.name(),
                            .device = session_->info().name,
                            .total = total,
                            .group_lanes = program.group_lanes(),
                            .least = program.groups(),
                            .first = program.groups() * kFirstBlocks});
  Part part;
  if (program.may_go_on()) {
    part.stop = &stop_word();
    fill({stop_.get(), 0, sizeof(uint32_t)}, 0);
    part.budget = parts.budget(kRoundsANanosecond);
  }
  // False if the deadline or the wish to cancel came first.
  const auto finish = [&](uint64_t number, const hal::Deadline& deadline) {
    session_->submit();
    const bool ended = session_->wait(number, deadline, launch.progress);
    if (!ended && !session_->wait(number, hal::Clock::now() + kGrace, nullptr))
      session_->give_up(number, program.name());
    if (ended) session_->check(number);
    return ended;
  };
  // The first launch may have more to make ready; one of no groups is no time of the program's.
  if (!finish(program.launch(launch, part), {})) throw parts.overdue();
  parts.run([&](uint64_t first, uint64_t end, const hal::Deadline& deadline) {
    using End = hal::Parts::End;
    part.first = first;
    part.end = end;
    if (!finish(program.launch(launch, part), deadline)) return End::Overdue;
    return part.stop != nullptr && stop_value() != 0 ? End::RanOut : End::Done;
  });
  if (launch.timed != 0) timed_.push_back({launch.timed, 0, parts.seconds()});
}

const MetalBuffer& MetalStream::stop_word() {
  if (stop_ == nullptr) stop_ = std::make_unique<MetalBuffer>(session_, sizeof(uint32_t));
  return *stop_;
}

uint32_t MetalStream::stop_value() {
  uint32_t value = 0;
  session_->read(reinterpret_cast<std::byte*>(&value), stop_->at(0, sizeof value));
  return value;
}

std::vector<hal::Timing> MetalStream::times(bool all) {
  std::vector<hal::Timing> known;
  while (!timed_.empty()) {
    const Timed first = timed_.front();
    if (all || timed_.size() > kMostTimed) session_->wait(first.number, {}, nullptr);
    else if (!session_->ended(first.number)) break;
    timed_.pop_front();
    known.push_back(
        {first.launch, first.number == 0 ? first.seconds : session_->seconds_of(first.number)});
  }
  return known;
}

void MetalStream::copy(hal::Binding to, hal::Binding from) {
  value_++;
  if (failure_ || broken_ || from.size == 0) return;
  // What a buffer of ours shares with the host has an address as well.
  std::byte* const to_host = to.buffer->host();
  const std::byte* const from_host = from.buffer->host();
  const MetalBuffer* const target = metal_buffer(to);
  const MetalBuffer* const source = metal_buffer(from);
  if (target == nullptr && source == nullptr) {
    std::memcpy(to_host + to.offset, from_host + from.offset, from.size);
    return;
  }
  session_->refuse_if_busy();
  if (source == nullptr) {
    const Session::Numbers numbers =
        session_->write(target->at(to.offset, from.size), from_host + from.offset);
    for (uint64_t number = numbers.first; number != 0 && number <= numbers.last; number++)
      note(number);
    return;
  }
  if (target == nullptr)
    return session_->read(to_host + to.offset, source->at(from.offset, from.size));
  note(session_->copy(target->at(to.offset, from.size), source->at(from.offset, from.size)));
}

void MetalStream::fill(hal::Binding where, uint32_t pattern) {
  value_++;
  where.size = where.size / sizeof pattern * sizeof pattern;
  if (failure_ || broken_ || where.size == 0) return;
  session_->refuse_if_busy();
  const auto byte = static_cast<uint8_t>(pattern);
  if (pattern != byte * 0x01010101U) return fill_by_kernel(where, pattern);
  note(session_->fill(metal_buffer(where)->at(where.offset, where.size), byte));
}

// The device itself repeats a byte only.
void MetalStream::fill_by_kernel(hal::Binding where, uint32_t pattern) {
  if (filler_ == nullptr)
    filler_ = std::make_unique<MetalProgram>(session_, Program::parse(kFill, "fill"));
  const uint64_t scalars[] = {where.size / sizeof pattern, pattern};
  const uint64_t groups = (scalars[0] - 1) / filler_->group_lanes() + 1;
  hal::Launch launch;
  launch.grid = {groups, 1, 1};
  launch.bindings = {&where, 1};
  launch.scalars = scalars;
  note(filler_->launch(launch, {.first = 0, .end = groups}));
}

void MetalStream::start() {
  if (!failure_ && !broken_) session_->start();
}

hal::Point MetalStream::submit() {
  if (!broken_) session_->submit();
  return {value_};
}

hal::State MetalStream::wait(hal::Point point, hal::Deadline deadline) {
  if (broken_) std::rethrow_exception(broken_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  try {
    while (!pending_.empty() && pending_.front().first <= point.value) {
      const uint64_t number = pending_.front().number;
      if (!session_->wait(number, deadline, nullptr)) return hal::State::Pending;
      pending_.pop_front();
      session_->check(number);
    }
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  return hal::State::Done;
}

}  // namespace hologram::backends::metal
