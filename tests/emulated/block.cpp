#include "block.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hologram::emulated {
namespace {

// What memory holds that nobody has written: a NaN of f32 and, twice, of f64; of integers nothing
// that a sum, minimum or mask begins with.
constexpr uint32_t kPoison = 0xfff5a5a5;
constexpr uint64_t kPoisons = uint64_t{kPoison} << 32 | kPoison;

void poison(char* from, const char* to) {
  for (; to - from >= static_cast<ptrdiff_t>(sizeof kPoison); from += sizeof kPoison)
    std::memcpy(from, &kPoison, sizeof kPoison);
  std::memset(from, 0xa5, static_cast<size_t>(to - from));
}

Block* current_block = nullptr;

}  // namespace

void Block::set(const Settings& settings) {
  settings_ = settings;
  random_.seed(settings.seed);
}

void Block::put_in_order(std::vector<unsigned>& numbers) {
  std::iota(numbers.begin(), numbers.end(), 0U);
  if (settings_.order == Order::Reverse) std::reverse(numbers.begin(), numbers.end());
  if (settings_.order == Order::Random) std::shuffle(numbers.begin(), numbers.end(), random_);
}

std::string Block::run(const Kernel& kernel, void** arguments, unsigned threads, unsigned block,
                       unsigned blocks) {
  kernel_ = kernel;
  arguments_ = arguments;
  *kernel.runtime = {{0}, {block}, {blocks}, settings_.wave, &wait_for_block, &exchange};
  if (kernel.entry->shared != nullptr) poison(kernel.entry->shared, kernel.entry->shared_end);
  threads_.assign(threads, {});
  if (!kernel.entry->waits) {
    run_one_by_one();
    return {};
  }
  if (!fibers_.begin(threads, &body)) return "there is no memory for stacks";
  current_block = this;
  return run_together();
}

void Block::run_one_by_one() {
  lanes_.resize(threads_.size());
  put_in_order(lanes_);
  for (const unsigned thread : lanes_) {
    kernel_.runtime->thread.x = thread;
    kernel_.entry->call(arguments_);
  }
}

// Each wave as far as it comes without others, until all have ended.
std::string Block::run_together() {
  const auto count = static_cast<unsigned>(threads_.size());
  while (true) {
    waves_.resize((count - 1) / settings_.wave + 1);
    put_in_order(waves_);
    for (const unsigned wave : waves_)
      run_wave(wave * settings_.wave, std::min((wave + 1) * settings_.wave, count));
    if (std::all_of(threads_.begin(), threads_.end(),
                    [](const Thread& t) { return t.state == State::Done; }))
      return {};
    if (!all_at_a_barrier()) return stuck();
    for (Thread& thread : threads_) thread.state = State::Ready;
  }
}

void Block::run_wave(unsigned first, unsigned end) {
  do {
    lanes_.resize(end - first);
    put_in_order(lanes_);
    for (const unsigned lane : lanes_) {
      running_ = first + lane;
      if (threads_[running_].state != State::Ready) continue;
      kernel_.runtime->thread.x = running_;
      fibers_.resume(running_);
    }
  } while (end_exchanges(first, end));
}

// Whether some went on.
bool Block::end_exchanges(unsigned first, unsigned end) {
  bool any = false;
  for (unsigned thread = first; thread < end; thread++)
    if (threads_[thread].state == State::InExchange) any = end_exchange(thread) || any;
  return any;
}

// Where all lanes that the thread names have come or ended, each gets what it asked for.
bool Block::end_exchange(unsigned thread) {
  const unsigned first = threads_[thread].first;
  const uint64_t lanes = threads_[thread].lanes;
  const auto take_part = [&](unsigned t) {
    return t >= first && t < threads_.size() && t - first < 64 && (lanes >> (t - first) & 1) != 0;
  };
  const auto there = [&](unsigned t) {
    const Thread& other = threads_[t];
    return other.state == State::InExchange && other.first == first && other.lanes == lanes;
  };
  const auto end = static_cast<unsigned>(std::min<size_t>(first + 64, threads_.size()));
  for (unsigned t = first; t < end; t++)
    if (take_part(t) && threads_[t].state != State::Done && !there(t)) return false;
  if (!take_part(thread)) return false;  // it names others, but not itself
  uint64_t received[64];
  for (unsigned t = first; t < end; t++) {
    const unsigned source = threads_[t].source;
    received[t - first] = take_part(t) && there(t) && take_part(source) && there(source)
                              ? threads_[source].bits
                              : kPoisons;
  }
  for (unsigned t = first; t < end; t++) {
    if (!take_part(t) || !there(t)) continue;
    threads_[t].bits = received[t - first];
    threads_[t].state = State::Ready;
  }
  return true;
}

bool Block::all_at_a_barrier() const {
  return std::all_of(threads_.begin(), threads_.end(), [this](const Thread& t) {
    return t.state == State::AtBarrier && t.line == threads_[0].line;
  });
}

// Runs of threads that do the same, in words.
std::string Block::stuck() const {
  const auto where = [](const Thread& t) -> std::string {
    if (t.state == State::AtBarrier) return "at the barrier of line " + std::to_string(t.line);
    return t.state == State::Done ? "at the end" : "waiting for lanes";
  };
  std::string text = "not all threads come to the same barrier:";
  for (size_t i = 0; i < threads_.size();) {
    size_t end = i + 1;
    while (end < threads_.size() && where(threads_[end]) == where(threads_[i])) end++;
    text += (i > 0 ? ", " : " ") + std::to_string(i) + " to " + std::to_string(end - 1) + " are " +
            where(threads_[i]);
    i = end;
    if (text.size() > 300) return text + ", …";
  }
  return text;
}

void Block::suspend(State state) {
  threads_[running_].state = state;
  fibers_.suspend();
}

void Block::body() {
  current_block->kernel_.entry->call(current_block->arguments_);
  current_block->suspend(State::Done);
}

void Block::wait_for_block(unsigned line) {
  current_block->threads_[current_block->running_].line = line;
  current_block->suspend(State::AtBarrier);
}

unsigned long long Block::exchange(unsigned long long bits, unsigned source, unsigned first,
                                   unsigned long long lanes) {
  const unsigned thread = current_block->running_;
  Thread& mine = current_block->threads_[thread];
  mine.source = source;
  mine.first = first;
  mine.lanes = lanes;
  mine.bits = bits;
  current_block->suspend(State::InExchange);
  return current_block->threads_[thread].bits;
}

}  // namespace hologram::emulated
