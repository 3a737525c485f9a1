// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is put together and started by submit.
#include <algorithm>
#include <cstring>

#include "backends/webgpu/program.hpp"
#include "hal/parts.hpp"

namespace hologram::backends::webgpu {
namespace {

constexpr size_t kMostTimed = 256;  // launches before their times are fetched

GpuBuffer* buffer_of(const hal::Binding& binding) {
  return static_cast<const WgBuffer*>(binding.buffer)->buffer();
}

}  // namespace

WgStream::~WgStream() {
  const auto lock = session_->lock();
  times_.reset();
  brought_.reset();
}

void WgStream::launch(const hal::Launch& launch) {
  value_++;
  if (failure_ || broken_) return;
  const auto& program = static_cast<const WgProgram&>(*launch.executable);
  const uint64_t total = hal::group_count(program.name(), launch.grid, 32, "WebGPU");
  session_->refuse_if_busy();
  if (total == 0) return;
  const bool limited = launch.deadline || launch.progress != nullptr || launch.budget > 0;
  if (limited || (kInPage && program.may_go_on())) {
    try {
      return watch(program, launch, total);
    } catch (...) {
      failure_ = std::current_exception();
      return;
    }
  }
  Part part{0, total};
  if (program.may_go_on()) part.stop = stop_word().buffer();
  if (launch.timed == 0) return program.launch(launch, part);
  const PassTimes times = next_times(launch.timed);
  part.times = &times;
  program.launch(launch, part);
}

PassTimes WgStream::next_times(uint64_t number) {
  if (times_ == nullptr) {
    times_ = session_->make_times(2 * kMostTimed);
    brought_ = session_->make_buffer(2 * kMostTimed * sizeof(uint64_t), kUseTimes | kUseCopyFrom);
  }
  if (timed_.size() == kMostTimed) collect_times();
  const auto place = static_cast<uint32_t>(2 * timed_.size());
  timed_.push_back(number);
  return {.set = times_.get(), .begin = place, .end = place + 1};
}

void WgStream::collect_times() {
  std::vector<uint64_t> moments(2 * timed_.size());
  session_->bring_times(times_.get(), static_cast<uint32_t>(moments.size()), brought_.get());
  session_->read(reinterpret_cast<std::byte*>(moments.data()), brought_.get(), 0,
                 moments.size() * sizeof(uint64_t));
  for (size_t i = 0; i < timed_.size(); i++) {
    const uint64_t from = moments[2 * i], to = moments[2 * i + 1];
    timings_.push_back({timed_[i], to > from ? static_cast<double>(to - from) * 1e-9 : 0.0});
  }
  timed_.clear();
}

std::vector<hal::Timing> WgStream::times(bool all) {
  if (all && !timed_.empty()) collect_times();
  return std::exchange(timings_, {});
}

StopWord& WgStream::stop_word() {
  if (stop_ == nullptr) stop_ = std::make_unique<StopWord>(*session_);
  return *stop_;
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

void WgStream::start() {
  if (!failure_ && !broken_) session_->start();
}

hal::Point WgStream::submit() {
  if (value_ > submitted_ && !failure_ && !broken_)
    pending_.push_back({value_, session_->submit()});
  submitted_ = value_;
  return {value_};
}

hal::State WgStream::wait(hal::Point point, hal::Deadline deadline) {
  if (broken_) std::rethrow_exception(broken_);
#ifdef __EMSCRIPTEN__
  session_->settle();
#endif
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
