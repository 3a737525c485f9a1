// A loop lies on the stack of its caller. Workers enter by a door, a word that says whether it is
// open, how many may be inside at a time and how many are. The caller helps, closes the door, and
// waits until nobody is inside. Between loops workers sleep on another word, the count of calls.
#include "core/parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "core/messages.hpp"
#include "core/workers.hpp"

namespace hologram::core {
namespace {

constexpr uint32_t kShares = 16;
constexpr size_t kLine = 64;

using Clock = std::chrono::steady_clock;

// What a thread does with a share of its own is in its caches if it had the same the last time. Who
// has done with his takes from the ends of others', but leaves the last piece of a thread that is
// at work to it for a moment, where pieces are so short that their data would take as long to come.
constexpr Clock::duration kShort = std::chrono::microseconds(5);
constexpr Clock::duration kLate = std::chrono::microseconds(50);  // for who was woken
constexpr Clock::duration kLong = std::chrono::microseconds(200);
constexpr uint32_t kFewHelpers = 4;  // of many, one that is late is not missed
std::atomic<bool> g_long{false};     // the last loop of them all, which tells what the next will be

void migrate_workers(bool all = false);

// Pieces from `next` on, in one word: their thread takes the first, others take the last.
class alignas(kLine) Share {
 public:
  void set(uint32_t begin, uint32_t end) {
    begin_ = begin;
    left_.store(uint64_t{end} << 32 | begin, std::memory_order_relaxed);
  }
  void clear() { left_.store(0, std::memory_order_relaxed); }
  uint32_t count() const {
    const uint64_t left = left_.load(std::memory_order_relaxed);
    return next(left) < end(left) ? end(left) - next(left) : 0;
  }
  bool begun() const { return next(left_.load(std::memory_order_relaxed)) != begin_; }
  std::optional<uint32_t> take_first() {
    return take([](uint64_t left) { return std::pair(next(left), left + 1); });
  }
  std::optional<uint32_t> take_last() {
    return take([](uint64_t left) { return std::pair(end(left) - 1, left - (uint64_t{1} << 32)); });
  }

 private:
  static uint32_t next(uint64_t left) { return static_cast<uint32_t>(left); }
  static uint32_t end(uint64_t left) { return static_cast<uint32_t>(left >> 32); }
  template <class Choice>
  std::optional<uint32_t> take(Choice choice) {
    uint64_t left = left_.load(std::memory_order_relaxed);
    while (next(left) < end(left)) {
      const auto [piece, rest] = choice(left);
      if (left_.compare_exchange_weak(left, rest, std::memory_order_relaxed)) return piece;
    }
    return {};
  }

  std::atomic<uint64_t> left_{0};
  uint32_t begin_ = 0;
};

class Loop {
 public:
  Loop(FunctionRef<void(uint64_t, uint64_t)> body, uint64_t n, uint64_t size, int threads,
       Direction direction)
      : body_(body),
        n_(n),
        direction_(direction),
        count_(std::min(static_cast<uint32_t>(threads), kShares)),
        pieces_(pieces_of(n, size, static_cast<uint32_t>(threads))) {
    for (uint32_t s = 0; s < count_; s++) shares_[s].set(first_of(s), first_of(s + 1));
  }

  uint32_t pieces() const { return pieces_; }
  bool helped() const { return helped_.load(std::memory_order_relaxed); }  // by a worker

  const void* body() const { return body_.object(); }
  // The lines that the first worker writes to.
  std::array<const void*, 2> written_first() const { return {&shares_[1 % count_], &helped_}; }

  // Does pieces until there are none left.
  void help(uint32_t thread, bool caller) noexcept {
    try {
      bool alone = caller;
      if (!caller) helped_.store(true, std::memory_order_relaxed);
      const Clock::time_point start = Clock::now();
      const uint32_t number = thread % count_;
      Share& own = shares_[number];
      int done = 0;
      for (auto p = own.take_first(); p; p = own.take_first(), done++) {
        run(number, *p);
        if (!alone) continue;
        alone = !helped();
        if (!alone || Clock::now() <= start + kLate) continue;
        migrate_workers();
        alone = false;
      }
      const Clock::time_point now = Clock::now();
      if (caller) g_long.store(now - start > kLong, std::memory_order_relaxed);
      const Clock::duration each = done > 0 ? (now - start) / done : kShort;
      bool patient = each < kShort;
      while (take_from_others(thread, patient)) {
        pause();
        patient = Clock::now() < now + each;
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }
  // The first failure is kept, and no more pieces are begun.
  void fail(std::exception_ptr failure) noexcept {
    for (uint32_t s = 0; s < count_; s++) shares_[s].clear();
    if (!failed_.exchange(true)) failure_ = std::move(failure);
  }
  // When nobody helps any more.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // As many for each thread, which makes shares as equal as can be, unless they are one by one.
  static uint32_t pieces_of(uint64_t n, uint64_t size, uint32_t threads) {
    const auto pieces = static_cast<uint32_t>((n + size - 1) / size);
    constexpr uint64_t kMany = 4;
    const uint32_t odd = pieces % threads;
    if (pieces < threads || odd == 0) return pieces;
    if (n / pieces >= kMany) return pieces - odd;
    const uint32_t more = pieces + threads - odd;
    return more <= n ? more : pieces;
  }
  // Pieces are as equal as can be, and so are shares of them.
  uint64_t begin_of(uint64_t piece) const {
    return n_ / pieces_ * piece + n_ % pieces_ * piece / pieces_;
  }
  uint32_t first_of(uint32_t share) const {
    return static_cast<uint32_t>(uint64_t{pieces_} * share / count_);
  }
  void run(uint32_t share, uint32_t piece) const {
    if (direction_ == Direction::Backward)
      piece = first_of(share) + first_of(share + 1) - 1 - piece;
    body_(begin_of(piece), begin_of(piece + 1));
  }

  // Whether pieces are left, to those whose they are.
  bool take_from_others(uint32_t thread, bool patient) {
    bool left = false;
    for (uint32_t k = 1; k < count_; k++) {
      const uint32_t number = (thread + k) % count_;
      Share& share = shares_[number];
      const auto leave = [&] { return patient && share.count() == 1 && share.begun(); };
      while (share.count() > 0 && !leave())
        if (const auto p = share.take_last()) run(number, *p);
      left = left || share.count() > 0;
    }
    return left;
  }

  const FunctionRef<void(uint64_t, uint64_t)> body_;
  const uint64_t n_;
  const Direction direction_;
  const uint32_t count_, pieces_;
  std::array<Share, kShares> shares_;
  std::atomic<bool> helped_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

// The state says in one word whether the door is open, how many may be inside at a time and how
// many are, so that who enters knows that all of it still holds.
constexpr uint32_t kOpen = 1u << 31, kInside = 0xffff, kPlace = 1u << 16, kMostPlaces = 0x7fff;

struct alignas(kLine) Door {
  std::atomic<uint32_t> state{0};
  std::atomic<bool> taken{false};  // there is a loop behind it
  Loop* loop = nullptr;            // as long as it is open or somebody is inside
};

std::array<Door, 8> g_doors;  // so many loops have workers at a time

// What workers turn about. Nothing else is in its line: each write to it takes that from them, and
// each look of theirs takes it back. The lines of the last call, of which each comes late from
// another core, are asked for at a time; the loop itself may be gone.
struct alignas(kLine) Bell {
  std::atomic<uint32_t> calls{0};
  std::array<std::atomic<const void*>, 2> read{};
  std::array<std::atomic<const void*>, 3> written{};

  void announce(const Door& door, const Loop& loop) {
    read[0].store(&loop, std::memory_order_relaxed);
    read[1].store(loop.body(), std::memory_order_relaxed);
    const auto [share, helped] = loop.written_first();
    size_t i = 0;
    for (const void* line : {static_cast<const void*>(&door), share, helped})
      written[i++].store(line, std::memory_order_relaxed);
  }
  // No more than that: what lies beside the body, its caller may be writing to.
  void fetch(uint32_t thread) const {
    for (const auto& line : read) __builtin_prefetch(line.load(std::memory_order_relaxed));
    if (thread > 1) return;
    for (const auto& line : written) __builtin_prefetch(line.load(std::memory_order_relaxed), 1);
  }
};
Bell g_bell;
alignas(kLine) std::atomic<int> g_caller_processor{kNoProcessor};  // of the last call
std::atomic<uint32_t> g_alone{0};                                  // loops since a worker came
std::atomic<int> g_workers{0};
std::atomic<uint32_t> g_begun{0};  // workers
std::atomic<bool> g_ended{false};
thread_local Door* t_inside = nullptr;
thread_local uint32_t t_number = 0;  // of a worker, from 1 on

// The first workers, for callers to send about.
std::array<Sleeper, 64> g_sleepers;

std::span<const Sleeper> sleepers() {
  return {g_sleepers.data(), std::min<size_t>(g_begun, g_sleepers.size())};
}

uint32_t places(uint32_t state) { return (state & ~kOpen) / kPlace; }

void leave(Door& door) {
  t_inside = nullptr;
  // The last one out of a closed door wakes the caller.
  const uint32_t state = door.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((state & kOpen) == 0 && (state & kInside) == 0) wake(door.state, 1);
}

void help_if_wanted(Door& door) {
  uint32_t state = door.state.load(std::memory_order_acquire);
  while ((state & kOpen) != 0 && (state & kInside) < places(state)) {
    if (!door.state.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
    t_inside = &door;
    door.loop->help(t_number, false);
    leave(door);
    return;
  }
}

// A system may wake a worker on the processor that its caller is at work on, above all in a virtual
// machine, where processors that idle look as if they were taken. It would wait there for as long.
// A few are sent off at a time: each costs three calls of the system.
void migrate_workers(bool all) {
  const int here = processor();
  if (here == kNoProcessor) return;
  const std::span<const Sleeper> others = sleepers();
  uint32_t sent = 0;
  for (size_t i = 0; i < others.size() && sent < kFewHelpers; i++) {
    if (i + 1 == t_number || !(all || others[i].asleep.load(std::memory_order_relaxed))) continue;
    move_from(others[i].thread, here);
    sent++;
  }
}

// Writes where the value is another one: only then others have to fetch it.
template <class T>
void update(std::atomic<T>& to, T value) {
  if (to.load(std::memory_order_relaxed) != value) to.store(value, std::memory_order_relaxed);
}

void call_workers(uint32_t count) {
  update(g_caller_processor, processor());
  g_bell.calls.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // before it looks for those that sleep
  wake(g_bell.calls, count);
  // It takes some 30 us where the other processors idle: more than a short loop is worth.
  if (count <= kFewHelpers && g_long.load(std::memory_order_relaxed)) migrate_workers();
}

// Who waits there all the same is let in now and then, and goes elsewhere (work()).
void let_workers_run() {
  constexpr uint32_t kMany = 4;
  const uint32_t alone = g_alone.load(std::memory_order_relaxed) + 1;
  if (alone >= kMany && std::has_single_bit(alone)) std::this_thread::yield();
}

Door* free_door() {
  for (Door& door : g_doors)
    if (!door.taken.load(std::memory_order_relaxed) &&
        !door.taken.exchange(true, std::memory_order_acquire))
      return &door;
  return nullptr;
}

}  // namespace

void set_worker_count(int count) {
  g_workers = count;
  if (count > 0) return;
  g_ended = true;
  call_workers(UINT32_MAX);
}

// Where others were at work when the process was forked, their loops stayed behind with them.
void forget_workers() {
  g_workers = 0;
  g_begun = 0;
  g_alone = 0;
  for (Sleeper& sleeper : g_sleepers) {
    sleeper.thread = kNoThread;
    sleeper.asleep = false;
  }
  for (Door& door : g_doors) {
    door.state = 0;
    door.taken = false;
  }
}

Direction alternate_direction() {
  static thread_local bool backward = true;
  backward = !backward;
  return backward ? Direction::Backward : Direction::Forward;
}

int worker_count() { return g_workers.load(std::memory_order_relaxed); }
bool is_worker() { return t_number > 0; }

void work() {
  t_number = ++g_begun;
  Sleeper* const own = t_number <= g_sleepers.size() ? &g_sleepers[t_number - 1] : nullptr;
  if (own != nullptr) own->thread = this_thread();
  while (true) {
    const uint32_t calls = g_bell.calls.load(std::memory_order_acquire);
    g_bell.fetch(t_number);
    if (g_ended.load(std::memory_order_relaxed)) return;
    for (Door& door : g_doors) help_if_wanted(door);
    wait_while(g_bell.calls, calls, own);
    const int here = processor();
    if (here != kNoProcessor && here == g_caller_processor.load(std::memory_order_relaxed))
      leave_processor();
  }
}

void abandon_work() {
  if (t_inside == nullptr) return;
  t_inside->loop->fail(
      std::make_exception_ptr(error(Text::InternalError, "a thread ended by itself")));
  leave(*t_inside);
}

Threads::Threads(int count)
    : count_(1 + possible_workers((count > 0 ? count : available_threads()) - 1)) {}

void Threads::run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body,
                  Direction direction) {
  if (n == 0) return;
  grain = std::max<uint64_t>(grain, 1);
  // Parts of a long loop may differ much in what they take: a late one is to hold up few.
  constexpr uint64_t kFew = 4, kMany = 16, kLongLoop = 16;
  const auto threads = static_cast<uint64_t>(count_);
  const uint64_t parts = threads * (n / grain < threads * kMany * kLongLoop ? kFew : kMany);
  const uint64_t size = std::max(grain, (n + parts - 1) / parts);
  if (count_ == 1 || n <= size) return body(0, n);
  if (worker_count() < count_ - 1) want_workers(count_ - 1);
  Door* const door = worker_count() > 0 ? free_door() : nullptr;
  if (door == nullptr) return body(0, n);
  Loop loop(body, n, size, count_, direction);
  door->loop = &loop;
  const auto helpers = static_cast<uint32_t>(
      std::min<uint64_t>({static_cast<uint64_t>(count_) - 1, loop.pieces() - 1, kMostPlaces}));
  door->state.store(kOpen | helpers * kPlace, std::memory_order_release);
  let_workers_run();
  g_bell.announce(*door, loop);
  call_workers(helpers);
  loop.help(t_number, true);
  update(g_alone, loop.helped() ? 0 : g_alone.load(std::memory_order_relaxed) + 1);
  uint32_t inside = door->state.fetch_and(kInside, std::memory_order_acq_rel) & kInside;
  bool slept = false;
  while (inside != 0) {
    slept = wait_while(door->state, inside) || slept;
    inside = door->state.load(std::memory_order_acquire);
  }
  // A worker woke the caller, maybe where it was at work itself.
  if (slept && helpers <= kFewHelpers) migrate_workers(true);
  door->taken.store(false, std::memory_order_release);
  loop.rethrow();
}

}  // namespace hologram::core
