#include "backends/metal/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/messages.hpp"

namespace hologram::backends::metal {
namespace {

using core::Text;
using std::chrono::milliseconds;

// The system ends command buffers that take seconds: this many bytes take a slow device less.
constexpr uint64_t kMostBound = uint64_t{8} << 30;
constexpr uint64_t kMostLaunches = 512;
constexpr uint64_t kWorthStarting = 64 << 20;  // bytes bound: some time of a fast device
constexpr size_t kMostStarted = 2;  // one is at work, and the device goes on with the other at once
constexpr size_t kMostFailures = 64;  // that are remembered

// Compilers can be talkative, and what is wrong stands first.
std::string first_lines(const std::string& log) {
  constexpr int kLines = 6;
  size_t end = 0;
  for (int line = 0; line < kLines && end != std::string::npos; line++)
    end = log.find('\n', end + (line > 0 ? 1 : 0));
  return log.substr(0, std::min<size_t>(end, 1000));
}

}  // namespace

std::shared_ptr<Session> Session::open(const Found& found) {
  static std::mutex mutex;
  static auto* const sessions = new std::map<const Device*, std::weak_ptr<Session>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Session>& known = (*sessions)[found.device];
  auto session = known.lock();
  if (session == nullptr) known = session = std::make_shared<Session>(found);
  return session;
}

Session::Session(const Found& found) : messages_(Driver::instance().messages()), found_(found) {
  const Pool pool;
  queue_ = own(messages_.new_queue(found_.device));
  if (queue_ == nullptr)
    throw core::error(Text::DriverFailed, info().name, "newCommandQueue", "there is none");
}

Session::~Session() {
  if (is_ending()) return;
  const Pool pool;
  end_encoders();
}

Owned<Pipeline> Session::pipeline(const std::string& program, const dialects::Printed& printed) {
  const Pool pool;
  const auto fails = [&](const std::string& why) {
    return core::error(Text::ProgramNotCompiled, program, info().name, first_lines(why));
  };
  const auto options = make<CompileOptions>(Driver::instance().classes().compile_options);
  // Newer systems have more than one kind of mathematics that is not safe.
  Object* const some = reinterpret_cast<Object*>(options.get());
  if (messages_.responds(some, messages_.set_math_mode.selector())) {
    messages_.set_math_mode(options.get(), kMathModeSafe);
    messages_.set_functions(options.get(), kPreciseFunctions);
  } else {
    messages_.set_fast_math(options.get(), false);
  }
  ErrorObject* error = nullptr;
  const auto library =
      own(messages_.new_library(found_.device, string_from(printed.text), options.get(), &error));
  if (library == nullptr) throw fails(string_of(error));
  const auto function = own(messages_.new_function(library.get(), string_from(printed.entry)));
  if (function == nullptr) throw fails("it has no kernel " + printed.entry);
  const auto descriptor = make<PipelineDescriptor>(Driver::instance().classes().descriptors);
  messages_.set_function(descriptor.get(), function.get());
  // So that the compiler leaves each of so many threads registers.
  messages_.set_most_threads(descriptor.get(), printed.lanes);
  auto pipeline =
      own(messages_.new_pipeline(found_.device, descriptor.get(), kNoOption, nullptr, &error));
  if (pipeline == nullptr) throw fails(string_of(error));
  if (const UInt most = messages_.most_threads(pipeline.get()); most < printed.lanes)
    throw core::error(Text::ProgramTooLarge, program, printed.lanes, "lanes in a workgroup",
                      info().name, most);
  return pipeline;
}

CommandBuffer* Session::commands() {
  if (open_.buffer != nullptr) return open_.buffer.get();
  open_.buffer = share(messages_.command_buffer(queue_.get()));
  if (open_.buffer == nullptr)
    throw core::error(Text::DriverFailed, info().name, "commandBuffer", "there is none");
  open_.number = ++number_;
  return open_.buffer.get();
}

ComputeEncoder* Session::compute() {
  if (compute_ != nullptr) return compute_.get();
  end_encoders();
  compute_ = share(messages_.compute(commands()));
  if (compute_ == nullptr)
    throw core::error(Text::DriverFailed, info().name, "computeCommandEncoder", "there is none");
  return compute_.get();
}

BlitEncoder* Session::blit() {
  if (blit_ != nullptr) return blit_.get();
  end_encoders();
  blit_ = share(messages_.blit(commands()));
  if (blit_ == nullptr)
    throw core::error(Text::DriverFailed, info().name, "blitCommandEncoder", "there is none");
  return blit_.get();
}

void Session::end_encoders() {
  if (compute_ != nullptr) messages_.end_compute(compute_.get());
  if (blit_ != nullptr) messages_.end_blit(blit_.get());
  compute_.reset();
  blit_.reset();
  set_ = nullptr;
}

void Session::commit() {
  if (open_.buffer == nullptr) return;
  end_encoders();
  launches_ = bytes_bound_ = 0;
  open_.committed = hal::Clock::now();
  messages_.commit(open_.buffer.get());
  under_way_.push_back(std::move(open_));
  open_ = {};
}

uint64_t Session::launch(const std::string& program, const Pipeline* pipeline,
                         std::span<const Memory> bound, std::span<const std::byte> numbers,
                         uint64_t blocks, uint64_t threads) {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  ComputeEncoder* const encoder = compute();
  open_.program = program;
  if (set_ != pipeline) messages_.set_pipeline(encoder, pipeline);
  set_ = pipeline;
  UInt place = 0;
  for (const Memory& memory : bound) {
    messages_.set_buffer(encoder, memory.buffer, memory.offset, place++);
    bytes_bound_ += memory.bytes;
  }
  if (numbers.size() <= kMostBytes) {
    messages_.set_bytes(encoder, numbers.data(), numbers.size(), place);
  } else {
    // The command buffer keeps it.
    const auto buffer = make_buffer(numbers.size(), kStorageShared);
    std::copy(numbers.begin(), numbers.end(),
              static_cast<std::byte*>(messages_.contents(buffer.get())));
    messages_.set_buffer(encoder, buffer.get(), 0, place);
  }
  messages_.dispatch(encoder, {blocks, 1, 1}, {threads, 1, 1});
  const uint64_t number = open_.number;
  if (++launches_ >= kMostLaunches || bytes_bound_ >= kMostBound) commit();
  return number;
}

void Session::start() {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  if (open_.buffer == nullptr || bytes_bound_ < kWorthStarting) return;
  look();
  if (under_way_.size() < kMostStarted) commit();
}

uint64_t Session::submit() {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  commit();
  return number_;
}

void Session::look() {
  while (!under_way_.empty() && messages_.status(under_way_.front().buffer.get()) >= kCompleted) {
    end(under_way_.front());
    under_way_.pop_front();
  }
}

bool Session::idle() {
  look();
  return open_.buffer == nullptr && under_way_.empty();
}

void Session::end(Commands& commands) {
  CommandBuffer* const buffer = commands.buffer.get();
  if (const auto time = times_.find(commands.number); time != times_.end())
    time->second = std::max(messages_.end_time(buffer) - messages_.start_time(buffer), 0.0);
  if (messages_.status(buffer) != kFailed) return;
  failures_.emplace(commands.number, error_of(commands));
  if (failures_.size() > kMostFailures) failures_.erase(failures_.begin());
}

Error Session::error_of(const Commands& commands) const {
  ErrorObject* const error = messages_.error(commands.buffer.get());
  const std::string why = string_of(error), &device = info().name;
  switch (error == nullptr ? 0 : messages_.code(error)) {
    case kErrorTimeout: return core::error(Text::SystemEndedProgram, commands.program, device, why);
    case kErrorOutOfMemory: return core::error(Text::DeviceMemory, device, why);
    case kErrorDeviceRemoved:
    case kErrorAccessRevoked: return core::error(Text::DeviceIsLost, device, why);
    default: break;
  }
  const std::string where =
      commands.program.empty() ? "its work" : fmt::format("program '{}'", commands.program);
  return core::error(Text::DriverFailed, device, where, why);
}

bool Session::ended(uint64_t number) {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  look();
  return open_.number != number && (under_way_.empty() || under_way_.front().number > number);
}

bool Session::wait(uint64_t number, const hal::Deadline& deadline, const Progress* progress) {
  const Pool pool;
  const auto start = hal::Clock::now();
  for (;;) {
    Owned<CommandBuffer> last;
    {
      const std::lock_guard lock(mutex_);
      if (open_.buffer != nullptr && open_.number <= number) commit();
      look();
      for (const Commands& commands : under_way_)
        if (commands.number <= number) last = share(commands.buffer.get());
    }
    if (last == nullptr) return true;
    if (!deadline && progress == nullptr) {
      messages_.wait(last.get());
      continue;
    }
    const auto now = hal::Clock::now();
    if ((deadline && now > *deadline) || (progress != nullptr && progress->cancel)) return false;
    // There is no wait with an end to it on all systems.
    if (now - start > std::chrono::microseconds(50))
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>((now - start) / 8, milliseconds(1)));
  }
}

void Session::check(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (const auto failed = failures_.find(number); failed != failures_.end())
    throw Error(failed->second);
}

void Session::keep_time(uint64_t number) {
  const std::lock_guard lock(mutex_);
  times_.emplace(number, 0);
}

double Session::seconds_of(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto time = times_.extract(number);
  return time.empty() ? 0 : time.mapped();
}

void Session::give_up(uint64_t number, const std::string& program) {
  const std::lock_guard lock(mutex_);
  overdue_ = number;
  culprit_ = program;
}

void Session::refuse_if_busy() {
  const Pool pool;
  const std::lock_guard lock(mutex_);
  if (overdue_ == 0) return;
  look();
  if (!under_way_.empty() && under_way_.front().number <= overdue_)
    throw core::error(Text::DeviceBusy, info().name, culprit_);
  overdue_ = 0;
}

}  // namespace hologram::backends::metal
