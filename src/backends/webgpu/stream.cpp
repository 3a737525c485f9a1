// Work in order. What has to be watched, because it has a deadline or may be cancelled, is done
// when launch returns; everything else is put together and started by submit.
#include <algorithm>
#include <cstring>

#include "backends/webgpu/program.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;

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
  program.launch(launch, part);
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
