#include "backends/opencl/session.hpp"

#include "core/messages.hpp"
#include "core/signal_handlers.hpp"

namespace hologram::backends::opencl {

using core::Text;

Session::Session(const Found& found)
    : api_(Driver::instance().api()),
      id_(found.id),
      info_(found.info),
      sees_host_(found.cpu),
      flags_(found.flags),
      few_registers_(found.few_registers) {
  const core::KeepSignalHandlers keep;
  int32_t status = kSuccess;
  context_ =
      own(api_.clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &status), api_.clReleaseContext);
  check(status, "clCreateContext");
  for (auto& queue : queues_) {
    queue =
        own(api_.clCreateCommandQueue(context_.get(), id_, 0, &status), api_.clReleaseCommandQueue);
    check(status, "clCreateCommandQueue");
  }
}

size_t Session::start(std::span<const Order::Use> uses, core::FunctionRef<void(Queue*)> command) {
  const std::lock_guard lock(order_mutex_);
  if (keeps_times_) {
    command(joined());
    return Order::kMain;
  }
  const Order::Step step = order_.next(uses);
  if (step.main_waits) wait_for_other(Order::kMain);
  if (step.aside_waits) wait_for_other(Order::kAside);
  command(queues_[step.queue].get());
  return step.queue;
}

Queue* Session::queue() {
  const std::lock_guard lock(order_mutex_);
  return joined();
}

Queue* Session::joined() {
  if (order_.join()) wait_for_other(Order::kMain);
  return queues_[Order::kMain].get();
}

void Session::wait_for_other(size_t queue) {
  Queue* const other = queues_[1 - queue].get();
  Event* event = nullptr;
  check(api_.clEnqueueMarkerWithWaitList(other, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  const auto owned = own(event, api_.clReleaseEvent);
  check(api_.clFlush(other), "clFlush");
  check(api_.clEnqueueBarrierWithWaitList(queues_[queue].get(), 1, &event, nullptr),
        "clEnqueueBarrierWithWaitList");
}

// A command with an event of its own has the device wait and write between it and the next:
// NVIDIA's takes 2 us for that, and the host another 2. A queue runs in order, so one event behind
// several commands tells of all of them.
Session::Mark Session::mark(size_t queue) {
  const std::lock_guard lock(order_mutex_);
  Event* event = nullptr;
  check(api_.clEnqueueMarkerWithWaitList(queues_[queue].get(), 0, nullptr, &event),
        "clEnqueueMarkerWithWaitList");
  return {own(event, api_.clReleaseEvent), order_.given(queue)};
}

void Session::flush(size_t queue) { check(api_.clFlush(queues_[queue].get()), "clFlush"); }

void Session::ended(size_t queue, uint64_t given) {
  const std::lock_guard lock(order_mutex_);
  order_.ended(queue, given);
}

void Session::keep_times() {
  int32_t status = kSuccess;
  auto queue = own(api_.clCreateCommandQueue(context_.get(), id_, kKeepTimes, &status),
                   api_.clReleaseCommandQueue);
  check(status, "clCreateCommandQueue");
  queues_[Order::kMain] = std::move(queue);
  keeps_times_ = true;
}

std::optional<double> Session::seconds_of(Event* event) const {
  const auto moment = [&](EventTime which, uint64_t& at) {
    return api_.clGetEventProfilingInfo(event, which, sizeof at, &at, nullptr) == kSuccess;
  };
  uint64_t start = 0, end = 0;
  if (!moment(EventTime::Start, start) || !moment(EventTime::End, end) || end < start) return {};
  return static_cast<double>(end - start) * 1e-9;
}

std::string Session::flags(uint32_t lanes) const {
  constexpr uint32_t kMany = 512;
  return lanes < kMany || few_registers_.empty() ? flags_ : flags_ + " " + few_registers_;
}

Session::~Session() {
  // What still runs keeps what it runs on.
  if (overdue_ == nullptr || status_of(overdue_.get()) <= kComplete) return;
  static_cast<void>(overdue_.release());
  static_cast<void>(overdue_stop_.release());
  for (auto& queue : queues_) static_cast<void>(queue.release());
  static_cast<void>(context_.release());
}

int32_t Session::status_of(Event* event) const {
  int32_t status = kComplete;
  const int32_t asked =
      api_.clGetEventInfo(event, EventInfo::Status, sizeof status, &status, nullptr);
  return asked == kSuccess ? status : asked;
}

void Session::give_up(Owned<Event> event, std::unique_ptr<StopWord> stop,
                      const std::string& program) {
  const std::lock_guard lock(mutex_);
  overdue_ = std::move(event);
  overdue_stop_ = std::move(stop);
  culprit_ = program;
  busy_ = true;
}

void Session::refuse_if_busy() {
  if (!busy_) return;
  const std::lock_guard lock(mutex_);
  if (overdue_ != nullptr && status_of(overdue_.get()) > kComplete)
    throw core::error(Text::DeviceBusy, info_.name, culprit_);
  overdue_ = {};
  overdue_stop_ = {};
  busy_ = false;
}

ClBuffer::ClBuffer(std::shared_ptr<Session> session, uint64_t bytes)
    : session_(std::move(session)), bytes_(bytes) {
  const Api& api = session_->api();
  const auto out_of_memory = [&] {
    return core::error(Text::OutOfMemory, session_->info().name, bytes, "");
  };
  int32_t status = kSuccess;
  memory_ = session_->own(api.clCreateBuffer(session_->context(), kReadWrite,
                                             std::max<uint64_t>(bytes, 1), nullptr, &status),
                          api.clReleaseMemObject);
  if (status == kInvalidBufferSize) throw out_of_memory();
  // Many drivers find out that there is no memory when it is first used.
  Memory* const memory = memory_.get();
  if (status == kSuccess)
    session_->start(std::array{Order::Use{memory, 0, bytes, true}}, [&](Queue* queue) {
      status =
          api.clEnqueueMigrateMemObjects(queue, 1, &memory, kUndefinedContent, 0, nullptr, nullptr);
    });
  if (status == kMemoryFailure || status == kOutOfHost) throw out_of_memory();
  session_->check(status, "clCreateBuffer");
}

StopWord::StopWord(Session& session) {
  const Api& api = session.api();
  int32_t status = kSuccess;
  memory_ = session.own(
      session.sees_host()
          ? api.clCreateBuffer(session.context(), kReadWrite | kUseHostMemory, sizeof(Word),
                               word_.get(), &status)
          : api.clCreateBuffer(session.context(), kReadWrite, sizeof(Word), nullptr, &status),
      api.clReleaseMemObject);
  session.check(status, "clCreateBuffer");
  clear(session);
}

void StopWord::clear(Session& session) {
  word_->store(0, std::memory_order_relaxed);
  const uint32_t zero = 0;
  if (!session.sees_host())
    session.check(
        session.api().clEnqueueFillBuffer(session.queue(), memory_.get(), &zero, sizeof zero, 0,
                                          sizeof zero, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
}

bool StopWord::raised(Session& session) {
  if (session.sees_host()) return word_->load(std::memory_order_relaxed) != 0;
  uint32_t value = 0;
  session.check(session.api().clEnqueueReadBuffer(session.queue(), memory_.get(), kTrue, 0,
                                                  sizeof value, &value, 0, nullptr, nullptr),
                "clEnqueueReadBuffer");
  return value != 0;
}

}  // namespace hologram::backends::opencl
