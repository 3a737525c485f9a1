#include "backends/driver/stream.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "libraries/gpu_plan.hpp"

namespace hologram::backends::driver {
namespace {

using core::Text;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread that the driver puts to sleep wakes up some 70 us late. In a wait of medium length
// others may have the processor between two looks.
constexpr microseconds kSpin{40}, kYield{10000};
constexpr milliseconds kLongestSleep{1};  // between looks at a deadline
constexpr milliseconds kGrace{250};       // for a kernel that was told to stop

}  // namespace

Stream::~Stream() {
  bool idle = false;
  try {
    if (gpu_.releases()) idle = wait(submit(), {}) == hal::State::Done;
  } catch (const Error& error) {
    // It failed, or there was no event to wait for; or nobody will hear of a check.
    if (error.kind() == ErrorKind::InvalidArgument) core::log(LogLevel::Error, error.what());
    gpu_.if_usable([&](const DriverFunctions& driver) {
      idle = driver.stream_synchronize(resources_->stream) == kSuccess;
    });
  }
  for (const Mark& mark : marks_) resources_->events.push_back(mark.event);
  for (const Timed& timed : timed_)
    resources_->timers.insert(resources_->timers.end(), {timed.from, timed.to});
  gpu_.give_back(std::move(resources_), idle);
}

void Stream::launch(const hal::Launch& launch) {
  const auto& program = static_cast<const DeviceProgram&>(*launch.executable);
  const uint64_t groups = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (groups == 0) return;
  gpu_.count_work();
  const hal::Clock::time_point start =
      launch.deadline ? hal::Clock::now() : hal::Clock::time_point();
  gpu_.require_usable();
  if (launch.budget != 0)
    throw core::error(Text::ProgramRefused, *program.name(), gpu_.name(),
                      "a budget of rounds is counted on the CPU alone");
  const Kernel& kernel = program.kernel(launch.deadline || launch.progress != nullptr);
  const size_t count = kernel.slots.size();
  if (values_.size() < count) {
    values_.resize(count);
    parameters_.resize(count);
    for (size_t i = 0; i < count; i++) parameters_[i] = &values_[i];
  }
  kernel.pack(values_.data(), launch.grid, launch.bindings, launch.scalars, resources_->stop,
              address_of);
  if (gpu_.kernels_wait() && !shared_) {
    const bool early = in_flight_.add(kernel, values_.data(), launch.bindings);
    if (kernel.early) values_[*kernel.early] = early ? 1 : 0;
  }
  const Gpu::Current current(gpu_);
  auto* const from = launch.timed != 0 ? timer() : nullptr;
  const Status status = driver::start(gpu_, kernel, kernel.blocks(launch.grid), parameters_.data(),
                                      resources_->stream);
  if (status != kSuccess) in_flight_.add_unknown();
  if (status != kSuccess && from != nullptr) resources_->timers.push_back(from);
  if (status == kOutOfResources)
    throw core::error(Text::ProgramRefused, *program.name(), gpu_.name(), driver_.text(status));
  if (status != kSuccess) throw gpu_.error(status, "program '" + *program.name() + '\'');
  if (from != nullptr) end_timing(launch.timed, from);
  last_ = program.name();
  launches_++;
  changed_ = true;
  if (launch.deadline && (!deadline_ || *launch.deadline < *deadline_)) {
    deadline_ = launch.deadline;
    limited_ = program.name();
    limit_ = std::chrono::duration_cast<milliseconds>(*launch.deadline - start + microseconds(500));
  }
  if (launch.progress != nullptr) watches_.push_back({launch.progress, groups * program.lanes()});
}

hal::Expected<std::unique_ptr<hal::CommandList>> Stream::list(
    std::span<const hal::Command> commands) {
  gpu_.require_usable();
  const Gpu::Current current(gpu_);
  try {
    auto made = std::make_unique<List>(gpu_, *resources_);
    made->make(commands);
    return made;
  } catch (const Error& error) {
    // What loses the device is an error.
    gpu_.require_usable();
    return hal::Refusal{error.what()};
  }
}

void Stream::replay(hal::CommandList& list, std::span<const hal::Binding> table) {
  look_at_checks();
  auto& graph = static_cast<List&>(list);
  in_flight_.add_unknown();
  gpu_.count_work();
  gpu_.require_usable();
  const Gpu::Current current(gpu_);
  graph.launch(table);
  last_ = graph.last();
  launches_ += graph.launches();
  changed_ = true;
}

void Stream::call(const hal::LibraryPlan& plan, std::span<const hal::Binding> bindings,
                  hal::Binding workspace) {
  gpu_.count_work();
  gpu_.require_usable();
  const auto& operation = static_cast<const libraries::GpuPlan&>(plan);
  operation.require_inside(bindings);
  in_flight_.add_unknown();
  const Gpu::Current current(gpu_);
  std::vector<Address> operands(bindings.size());
  std::transform(bindings.begin(), bindings.end(), operands.begin(), address_of);
  run_plan(gpu_, plan, operands, plan.workspace() == 0 ? 0 : address_of(workspace),
           resources_->stream);
  last_ = operation.shared_name();
  launches_++;
  changed_ = true;
}

void Stream::copy(hal::Binding to, hal::Binding from) {
  if (from.size == 0) return;
  gpu_.count_work();
  gpu_.require_usable();
  in_flight_.add_unknown();
  const Gpu::Current current(gpu_);
  changed_ = true;
  if (to.buffer->host() != nullptr) download(to, from);
  else if (from.buffer->host() != nullptr) upload(to, from);
  else between(to, from);
}

void Stream::between(const hal::Binding& to, const hal::Binding& from) {
  Gpu &there = static_cast<const Memory&>(*to.buffer).gpu(),
      &here = static_cast<const Memory&>(*from.buffer).gpu();
  if (&there != &here) {
    here.link(there);
    there.link(here);
  }
  check(&there == &here
            ? driver_->copy(address_of(to), address_of(from), from.size, resources_->stream)
            : driver_->copy_peer(address_of(to), there.context(), address_of(from), here.context(),
                                 from.size, resources_->stream));
}

void Stream::fill(hal::Binding where, uint32_t pattern) {
  if (where.size < sizeof pattern) return;
  gpu_.count_work();
  gpu_.require_usable();
  in_flight_.add_unknown();
  const Gpu::Current current(gpu_);
  changed_ = true;
  check(driver_->fill(address_of(where), pattern, where.size / sizeof pattern, resources_->stream));
}

namespace {

// Whether the device reads that memory of the host by itself.
bool is_pinned(const Driver& driver, const std::byte* memory) {
  unsigned type = 0;
  int attribute = kMemoryType;
  void* value = &type;
  const auto address = static_cast<Address>(reinterpret_cast<uintptr_t>(memory));
  return driver->pointer_attributes(1, &attribute, &value, address) == kSuccess &&
         type == kHostMemory;
}

}  // namespace

void Stream::prepare_staging() {
  for (size_t i = 0; i < 2; i++) {
    if (resources_->staged[i] == nullptr)
      check(driver_->event_create(&resources_->staged[i], kBlockingSync | kNoTiming));
    void* memory = resources_->staging[i];
    if (memory == nullptr)
      check(driver_->allocate_host(&memory, StreamResources::kChunk, kPortable));
    resources_->staging[i] = static_cast<std::byte*>(memory);
  }
}

void Stream::upload(hal::Binding to, hal::Binding from) {
  const std::byte* source = from.buffer->host() + from.offset;
  const Address target = address_of(to);
  if (is_pinned(driver_, source)) {
    check(driver_->copy_in(target, source, from.size, resources_->stream));
    return static_cast<void>(wait(submit(), {}));
  }
  prepare_staging();
  for (uint64_t at = 0, turn = 0; at < from.size; at += StreamResources::kChunk, turn++) {
    const size_t i = turn % 2;
    const uint64_t bytes = std::min<uint64_t>(StreamResources::kChunk, from.size - at);
    if (staged_ || turn >= 2) await(resources_->staged[i], {});
    std::memcpy(resources_->staging[i], source + at, bytes);
    check(driver_->copy_in(target + at, resources_->staging[i], bytes, resources_->stream));
    check(driver_->event_record(resources_->staged[i], resources_->stream));
    // The other half waits for what was before this copy, if for anything.
    if (turn > 0) staged_ = true;
  }
  staged_ = true;
}

void Stream::download(hal::Binding to, hal::Binding from) {
  std::byte* target = to.buffer->host() + to.offset;
  const Address source = address_of(from);
  if (is_pinned(driver_, target))
    return check(driver_->copy_out(target, source, from.size, resources_->stream));
  prepare_staging();
  const uint64_t chunks = (from.size - 1) / StreamResources::kChunk + 1;
  const auto bytes = [&](uint64_t chunk) {
    return std::min<uint64_t>(StreamResources::kChunk, from.size - chunk * StreamResources::kChunk);
  };
  for (uint64_t chunk = 0; chunk <= chunks; chunk++) {
    if (chunk < chunks) {
      const size_t i = chunk % 2;
      check(driver_->copy_out(resources_->staging[i], source + chunk * StreamResources::kChunk,
                              bytes(chunk), resources_->stream));
      check(driver_->event_record(resources_->staged[i], resources_->stream));
    }
    if (chunk == 0) continue;
    const uint64_t last = chunk - 1;
    await(resources_->staged[last % 2], {});
    std::memcpy(target + last * StreamResources::kChunk, resources_->staging[last % 2],
                bytes(last));
  }
}

// An event behind everything that the stream was given. The context is current.
Event Stream::mark() {
  if (resources_->events.empty()) {
    Event made = nullptr;
    check(driver_->event_create(&made, kBlockingSync | kNoTiming));
    resources_->events.push_back(made);
  }
  auto* const event = resources_->events.back();
  check(driver_->event_record(event, resources_->stream));
  resources_->events.pop_back();
  return event;
}

// An event that knows when everything before it was done.
Event Stream::timer() {
  if (resources_->timers.empty()) {
    Event made = nullptr;
    check(driver_->event_create(&made, kBlockingSync));
    resources_->timers.push_back(made);
  }
  auto* const event = resources_->timers.back();
  check(driver_->event_record(event, resources_->stream));
  resources_->timers.pop_back();
  return event;
}

// The launch was taken: that it cannot be timed is no failure of its.
void Stream::end_timing(uint64_t number, Event from) {
  try {
    timed_.push_back({number, from, timer()});
  } catch (const Error&) {
    resources_->timers.push_back(from);
  }
}

std::vector<hal::Timing> Stream::times(bool all) {
  std::vector<hal::Timing> known;
  if (timed_.empty()) return known;
  if (all) wait(submit(), {});
  const Gpu::Current current(gpu_);
  for (; !timed_.empty() && driver_->event_query(timed_.front().to) == kSuccess;
       timed_.pop_front()) {
    const Timed& timed = timed_.front();
    float milliseconds = 0;
    check(driver_->event_elapsed(&milliseconds, timed.from, timed.to));
    known.push_back({timed.number, milliseconds * 1e-3});
    resources_->timers.insert(resources_->timers.end(), {timed.from, timed.to});
  }
  return known;
}

hal::Point Stream::submit() {
  if (!changed_) return {value_};
  gpu_.require_usable();
  const Gpu::Current current(gpu_);
  auto* const event = mark();
  marks_.push_back({++value_, event});
  changed_ = false;
  return {value_};
}

hal::State Stream::wait(hal::Point point, hal::Deadline deadline) {
  size_t reached = 0;
  while (reached < marks_.size() && marks_[reached].value <= point.value) reached++;
  gpu_.require_usable();
  if (reached == 0) return hal::State::Done;
  const Gpu::Current current(gpu_);
  if (await(marks_[reached - 1].event, deadline) == hal::State::Pending) return hal::State::Pending;
  for (; reached > 0; reached--) {
    resources_->events.push_back(marks_.front().event);
    marks_.pop_front();
  }
  if (marks_.empty() && !changed_) {
    for (const Watch& watch : watches_) watch.progress->done += watch.lanes;
    forget();
  }
  look_at_checks();
  return hal::State::Done;
}

void Stream::require_zero(hal::Binding word, std::function<Error()> error) {
  if (checks_.size() == StreamResources::kWords) wait(submit(), {});
  gpu_.count_work();
  gpu_.require_usable();
  in_flight_.add_unknown();
  const Gpu::Current current(gpu_);
  if (resources_->words == nullptr) {
    void* memory = nullptr;
    check(driver_->allocate_host(&memory, StreamResources::kWords * sizeof(uint32_t), kPortable));
    resources_->words = static_cast<uint32_t*>(memory);
  }
  uint32_t* const copy = resources_->words + next_word_++ % StreamResources::kWords;
  *copy = kOnItsWay;
  changed_ = true;
  check(driver_->copy_out(copy, address_of(word), sizeof *copy, resources_->stream));
  checks_.push_back({copy, std::move(error)});
}

// Those that the device has told. The first that is not 0 is thrown, and is not looked at again.
void Stream::look_at_checks() {
  while (!checks_.empty() && *checks_.front().word != kOnItsWay) {
    const Check check = std::move(checks_.front());
    checks_.pop_front();
    if (*check.word != 0) throw check.error();
  }
}

// Nothing that was launched is watched any more.
void Stream::forget() {
  deadline_.reset();
  limited_.reset();
  last_.reset();
  launches_ = 0;
  watches_.clear();
}

std::string Stream::work() const {
  if (last_ == nullptr) return "copying memory";
  if (launches_ == 1) return "program '" + *last_ + "'";
  return "one of " + std::to_string(launches_) + " programs up to '" + *last_ + "'";
}

bool Stream::cancelled() const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [](const Watch& w) { return w.progress->cancel.load(); });
}

// Looks often at first, then lets the thread sleep. The context is current.
hal::State Stream::await(Event event, hal::Deadline deadline) {
  const hal::Clock::time_point start = hal::Clock::now();
  microseconds sleep{20};
  while (true) {
    const Status status = driver_->event_query(event);
    if (status == kSuccess) return hal::State::Done;
    if (status != kNotReady) throw gpu_.error(status, work(), true);
    const hal::Clock::time_point now = hal::Clock::now();
    if (cancelled()) stop(true);
    if (deadline_ && now >= *deadline_) stop(false);
    if (deadline && now >= *deadline) return hal::State::Pending;
    if (now - start < kSpin) continue;
    if (now - start < kYield) {
      std::this_thread::yield();
      continue;
    }
    if (!deadline && !deadline_ && watches_.empty()) {
      const Status end = driver_->event_synchronize(event);
      if (end != kSuccess) throw gpu_.error(end, work(), true);
      return hal::State::Done;
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min<microseconds>(2 * sleep, kLongestSleep);
  }
}

// Ends the loops of whatever runs on the stream, and waits until it has ended; what does not end
// soon is given up, and the device is not usable until it has.
void Stream::stop(bool cancelled) {
  const std::string name = *(cancelled ? last_ : limited_);
  auto* const end = mark();
  gpu_.set_stop(*resources_, true, resources_->signals);
  const hal::Clock::time_point until = hal::Clock::now() + kGrace;
  Status status = kNotReady;
  while ((status = driver_->event_query(end)) == kNotReady && hal::Clock::now() < until)
    std::this_thread::sleep_for(microseconds(100));
  const Error outcome = cancelled
                            ? core::error(Text::ProgramCancelled, name)
                            : core::error(Text::ProgramTimeout, name, limit_.count(), gpu_.name());
  forget();
  for (; !marks_.empty(); marks_.pop_front()) resources_->events.push_back(marks_.front().event);
  changed_ = false;
  if (status == kNotReady) {
    gpu_.quarantine(*resources_, end, name);
    throw Error(outcome);
  }
  resources_->events.push_back(end);
  if (status != kSuccess) throw gpu_.error(status, "program '" + name + '\'', true);
  gpu_.set_stop(*resources_, false, resources_->stream);
  throw Error(outcome);
}

}  // namespace hologram::backends::driver
