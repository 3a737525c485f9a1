// Whatever waits for the device: errors of what is made, launches with a time limit.
#include <algorithm>

#include "backends/webgpu/program.hpp"
#include "hal/parts.hpp"

namespace hologram::backends::webgpu {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kPatience{30};  // for an error
constexpr uint64_t kWorthStarting = 64 << 20;  // bytes bound: some 20 us of a fast device
constexpr size_t kMostStarted = 2;  // one is at work, and the device goes on with the other at once
// A thread that sleeps between looks notices that work is done so much later than it took, at most.
constexpr int kLateness = 100;
// How long to wait for a program that is over its time.
constexpr milliseconds kGrace{500};
// No lane goes around a loop more often than this, on a GPU and in software.
constexpr double kRoundsANanosecond = 1, kSoftRoundsANanosecond = 0.25;
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
  hal::Parts parts(launch, {.program = program.name(),
                            .device = session_->info().name,
                            .total = total,
                            .group_lanes = program.group_lanes(),
                            .least = program.groups(),
                            .first = program.groups() * kFirstBlocks});
  Part part;
  if (program.may_go_on()) {
    stop_word().clear();
    part.stop = stop_->buffer();
    part.budget =
        parts.budget(session_->info().software ? kSoftRoundsANanosecond : kRoundsANanosecond);
  }
  // Drivers compile at the first launch; one of no groups is no time of the program's.
  program.launch(launch, part);
  session_->wait(session_->submit(), {}, nullptr);
  session_->check();
  parts.run([&](uint64_t first, uint64_t end, const hal::Deadline& deadline) {
    using End = hal::Parts::End;
    part.first = first;
    part.end = end;
    program.launch(launch, part);
    const Awaited done = session_->submit();
    if (!session_->wait(done, deadline, launch.progress)) {
      if (!session_->wait(done, hal::Clock::now() + kGrace, nullptr))
        session_->give_up(done, program.name());
      return End::Overdue;
    }
    session_->check();
    return part.stop != nullptr && stop_->raised() ? End::RanOut : End::Done;
  });
  if (launch.timed != 0) timings_.push_back({launch.timed, parts.seconds()});
}

}  // namespace hologram::backends::webgpu
