// What a page does in place of sync.cpp.
#include <algorithm>
#include <cstring>

#include "backends/webgpu/browser.hpp"
#include "backends/webgpu/browser_imports.hpp"
#include "backends/webgpu/program.hpp"
#include "core/messages.hpp"

namespace hologram::backends::webgpu {
namespace {

using core::Text;
// How often a lane may go around loops that may have no end, where nobody says: browsers take the
// device from a page that keeps it for some seconds.
constexpr uint64_t kMostRounds = uint64_t{1} << 28, kMostSoftRounds = uint64_t{1} << 20;
// No lane goes around a loop more often than this, on a GPU and in software.
constexpr int64_t kNanosecondsARound = 1, kNanosecondsASoftRound = 4;

uint32_t handle(const GpuBuffer* buffer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(buffer));
}

Values* g_values = nullptr;  // of the attempt that there is

}  // namespace

Values::~Values() {
  for (const Value& value : values_)
    if (value.number != 0) gpu_drop(value.number);
}
Attempt::Attempt(Values& values) : before_(std::exchange(g_values, &values)) { values.next_ = 0; }
Attempt::~Attempt() { g_values = before_; }

uint32_t bring(const hal::Binding& from) {
  const auto& buffer = static_cast<const WgBuffer&>(*from.buffer);
  return buffer.session().bring(buffer.buffer(), from.offset, from.size);
}

uint32_t Session::bring(GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  if (lost()) check();
  end_pass();
  const auto encoder = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(this->encoder()));
  const uint32_t number = gpu_bring(encoder, handle(from), static_cast<double>(offset),
                                    static_cast<double>(whole_words(bytes)));
  flush();
  gpu_start(number);
  return number;
}

void Session::read(std::byte* to, GpuBuffer* from, uint64_t offset, uint64_t bytes) {
  if (g_values == nullptr) throw NotYet();
  auto& values = g_values->values_;
  size_t& next = g_values->next_;
  if (next == values.size()) {
    values.push_back({bring(from, offset, bytes), {}});
    throw NotYet();
  }
  Values::Value& value = values[next];
  if (value.number != 0) {
    const auto state = static_cast<Brought>(gpu_brought(value.number));
    if (state == Brought::NotYet) throw NotYet();
    settle();
    check();
    if (state == Brought::Failed)
      throw core::error(Text::DriverFailed, info_.name, "mapAsync", "it does not say why");
    value.bytes.resize(whole_words(bytes));
    gpu_take(std::exchange(value.number, 0), value.bytes.data(),
             static_cast<uint32_t>(value.bytes.size()));
  }
  if (value.bytes.size() != whole_words(bytes))
    throw core::error(Text::InternalError, "an attempt at work read other values than the last");
  std::memcpy(to, value.bytes.data(), bytes);
  next++;
}

void Session::defer_check(GpuBuffer* word, uint64_t offset, std::function<Error()> error) {
  doubts_.push_back({bring(word, offset, sizeof(uint32_t)), std::move(error)});
}

void Session::settle() {
  for (size_t i = 0; i < doubts_.size();) {
    const auto state = static_cast<Brought>(gpu_brought(doubts_[i].number));
    if (state == Brought::NotYet) {
      i++;
      continue;
    }
    uint32_t word = 0;
    if (state == Brought::There) gpu_take(doubts_[i].number, &word, sizeof word);
    else gpu_drop(doubts_[i].number);
    const auto error = std::move(doubts_[i].error);
    doubts_.erase(doubts_.begin() + static_cast<ptrdiff_t>(i));
    if (word != 0) throw error();
  }
}

// What is wrong comes to the callback of errors.
std::string Session::scoped(const std::function<void()>& make, ErrorType*, std::string_view what) {
  gpu_watch();
  make();
  gpu_watched(what.data(), static_cast<uint32_t>(what.size()));
  return {};
}

// Work is in order, and whoever needs to know of its end reads what it leaves.
// Whoever wants to see a result reads it, and that starts everything.
void Session::start() {}

Awaited Session::submit() {
  const auto answer = std::make_shared<Answer>();
  answer->there = true;
  flush();
  return answer;
}
bool Session::wait(const Awaited&, const hal::Deadline&, const Progress*) { return true; }

void WgStream::require_zero(hal::Binding word, std::function<Error()> error) {
  value_++;
  if (failure_ || broken_) return;
  session_->refuse_if_busy();
  session_->defer_check(static_cast<const WgBuffer*>(word.buffer)->buffer(), word.offset,
                        std::move(error));
}

void WgStream::watch(const WgProgram& program, const hal::Launch& launch, uint64_t total) {
  Part part{0, total};
  if (!program.may_go_on()) return program.launch(launch, part);
  const bool software = session_->info().software;
  part.budget = launch.budget > 0 ? launch.budget : software ? kMostSoftRounds : kMostRounds;
  Error error = core::error(Text::ProgramBudget, program.name(), part.budget);
  if (launch.deadline) {
    const std::chrono::nanoseconds limit = *launch.deadline - hal::Clock::now();
    const int64_t round = software ? kNanosecondsASoftRound : kNanosecondsARound;
    const auto rounds = static_cast<uint64_t>(std::max<int64_t>(1, limit.count() / round));
    if (rounds < part.budget) {
      part.budget = rounds;
      error = core::error(Text::ProgramTimeout, program.name(), limit.count() / 1'000'000,
                          session_->info().name);
    }
  }
  stop_word().clear();
  part.stop = stop_->buffer();
  program.launch(launch, part);
  session_->defer_check(part.stop, 0, [error] { return error; });
}

}  // namespace hologram::backends::webgpu
