// Whatever waits for the device: errors of what is made, launches with a time limit.
#include <algorithm>

#include "backends/webgpu/program.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kPatience{30};  // for an error
constexpr uint64_t kWorthStarting = 64 << 20;  // bytes bound: some 20 us of a fast device
constexpr size_t kMostStarted = 2;  // one is at work, and the device goes on with the other at once
// A thread that sleeps between looks notices that work is done so much later than it took, at most.
constexpr int kLateness = 100;
// Of a launch that is watched, parts of about this length are started at a time.
constexpr milliseconds kPart{20};
// How long to wait for a program that is over its time.
constexpr milliseconds kGrace{500};
// No lane goes around a loop more often than this, on a GPU and in software.
constexpr int64_t kNanosecondsARound = 1, kNanosecondsASoftRound = 4;
constexpr uint64_t kFirstBlocks = 128;

}  // namespace

// What is wrong with what `make` makes; empty if nothing is. wgpu-native does not know scopes of
// internal errors: those come to the callback of errors that nobody waits for.
std::string Session::scoped(const std::function<void()>& make, ErrorType* type, std::string_view) {
  constexpr Filter kFilters[] = {Filter::OutOfMemory, Filter::Validation};
  for (const Filter filter : kFilters) api_.wgpuDevicePushErrorScope(device_.get(), filter);
  make();
  std::string found;
  for (size_t i = 0; i < std::size(kFilters); i++) {
    const auto answer = std::make_shared<Answer>();
    api_.wgpuDevicePopErrorScope(device_.get(), on_scope(answer));
    wait_for(api_, instance_.get(), hal::Clock::now() + kPatience, [&] { return answer->there; });
    if (answer->error == ErrorType::None || !answer->there || !found.empty()) continue;
    found = answer->message.empty() ? "it does not say why" : answer->message;
    if (found.find("device is lost") != std::string::npos) health_->take(found);
    if (type != nullptr) *type = answer->error;
  }
  return found;
}

void Session::start() {
  const auto lock = this->lock();
  if (encoder_ == nullptr || bytes_bound_ < kWorthStarting) return;
  if (started_.size() == kMostStarted) api_.wgpuInstanceProcessEvents(instance_.get());
  while (!started_.empty() && started_.front()->there) started_.pop_front();
  if (started_.size() == kMostStarted) return;
  flush();
  started_.push_back(std::make_shared<Answer>());
  api_.wgpuQueueOnSubmittedWorkDone(queue_.get(), on_done(started_.back()));
}

Awaited Session::submit() {
  auto answer = std::make_shared<Answer>();
  const auto lock = this->lock();
  flush();
  api_.wgpuQueueOnSubmittedWorkDone(queue_.get(), on_done(answer));
  return answer;
}

bool Session::process(const Awaited& answer) {
  const auto lock = this->lock();
  api_.wgpuInstanceProcessEvents(instance_.get());
  return answer->there;
}

bool Session::wait(const Awaited& answer, const hal::Deadline& deadline, const Progress* progress) {
  const auto start = hal::Clock::now();
  // A thread that sleeps is woken late; a device in software needs the processor itself.
  const auto attentive = info_.software ? microseconds(50) : microseconds(10000);
  for (;;) {
    if (process(answer)) return true;
    if (lost()) check();
    const auto now = hal::Clock::now();
    if ((deadline && now > *deadline) || (progress != nullptr && progress->cancel)) return false;
    if (now - start > attentive)
      std::this_thread::sleep_for(
          std::min<nanoseconds>((now - start) / kLateness, milliseconds(1)));
  }
}

bool StopWord::raised() {
  uint32_t value = 0;
  session_.read(reinterpret_cast<std::byte*>(&value), buffer(), 0, sizeof value);
  return value != 0;
}

void WgStream::watch(const WgProgram& program, const hal::Launch& launch, uint64_t total) {
  auto start = hal::Clock::now();
  const auto limit = launch.deadline ? *launch.deadline - start : nanoseconds(0);
  const auto timed_out = [&] {
    return core::error(Text::ProgramTimeout, program.name(),
                       duration_cast<milliseconds>(limit + microseconds(500)).count(),
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
  if (launch.timed != 0)
    timings_.push_back(
        {launch.timed, std::chrono::duration<double>(hal::Clock::now() - start).count()});
}

}  // namespace hologram::backends::webgpu
