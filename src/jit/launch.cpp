// Runs compiled code over a grid, cut into parts for the threads.
#include <algorithm>
#include <atomic>
#include <chrono>

#include "jit/analysis.hpp"
#include "jit/code.hpp"
#include "jit/frame.hpp"
#include "jit/jit.hpp"

namespace hologram::jit {

using interp::Launch;
using interp::Outcome;
using Clock = std::chrono::steady_clock;

namespace {

constexpr uint64_t kLanes = 16384;      // of a call, between looks at the clock
constexpr uint64_t kMostLanes = 65536;  // where there are many calls
constexpr uint64_t kGroups = 64;        // the same for workgroups
// Of a program of so many instructions; less of longer ones.
constexpr uint64_t kLanesWorthAThread = 8192, kOfInstructions = 16, kLeastWorthAThread = 1024;
constexpr uint64_t kLanesTogether = 256;  // parts are multiples of these
// Of groups, whose lanes do several elements each.
constexpr uint64_t kLanesWorthACall = 1024, kLeastOfGroups = 256;
constexpr uint64_t kPartsAThread = 4;
// Where the columns that a row reads touch more lines, and pages, of memory than a processor has at
// hand, the grid is cut into tiles: the next rows find what lies beside in the first cache.
constexpr uint64_t kLinesAtHand = 1024, kLanesOfTile = 64, kRowsOfTile = 64;

// Of lanes one by one, which take as long each as a vector of others; fewer where they part in
// loops, until it is known how long they take.
constexpr uint64_t kScalarLanes = 16, kWithLoops = 8;
constexpr float kTimeWorthAThread = 4000;  // nanoseconds

uint64_t worth(uint64_t instructions, uint64_t least, uint64_t most) {
  return std::clamp(most * kOfInstructions / std::max<uint64_t>(instructions, 1), least, most);
}

uint64_t foreseen(Lanes lanes, bool parts, std::span<const program::Inst> insts) {
  if (lanes == Lanes::ByGroup) return worth(insts.size(), kLeastOfGroups, kLanesWorthACall);
  const uint64_t together = lanes == Lanes::Scalarized ? 1 : kScalarLanes;
  const bool loops = std::any_of(insts.begin(), insts.end(), is_loop);
  if (parts && loops) return kWithLoops * together;
  return worth(insts.size(), kLeastWorthAThread, kLanesWorthAThread) / kScalarLanes * together;
}

struct Stopped {};

class Watch {
 public:
  explicit Watch(const Launch& launch) : launch_(launch) {}

  // Whether to go on.
  bool look() {
    if (stop.load(std::memory_order_relaxed)) return false;
    if (launch_.progress != nullptr && launch_.progress->cancel.load(std::memory_order_relaxed))
      return give_up(Outcome::Cancelled);
    if (launch_.deadline && Clock::now() > *launch_.deadline) return give_up(Outcome::TimedOut);
    return true;
  }

  std::atomic<bool> stop{false};
  std::atomic<Outcome> outcome{Outcome::Done};

 private:
  bool give_up(Outcome why) {
    Outcome none = Outcome::Done;
    outcome.compare_exchange_strong(none, why);
    stop = true;
    return false;
  }
  const Launch& launch_;
};

uint64_t more_fuel(Frame* frame) { return static_cast<Watch*>(frame->watch)->look() ? kFuel : 0; }

}  // namespace

Compiled::Compiled(std::unique_ptr<Code> code, Lanes lanes, bool parts, uint32_t columns,
                   std::array<uint32_t, 3> workgroup, std::span<const program::Inst> insts)
    : code_(std::move(code)),
      lanes_(lanes),
      parts_(parts),
      columns_(columns),
      workgroup_(workgroup),
      lanes_worth_a_thread_(foreseen(lanes, parts, insts)) {}
Compiled::~Compiled() = default;

uint64_t Compiled::worth_a_thread() const {
  const float time = time_of_lane_.load(std::memory_order_relaxed);
  if (time == 0) return lanes_worth_a_thread_;
  return static_cast<uint64_t>(
      std::clamp(kTimeWorthAThread / time, 1.0f, static_cast<float>(kLanesWorthAThread)));
}

size_t Compiled::bytes() const { return code_->bytes(); }
std::span<const std::byte> Compiled::code() const {
  return {static_cast<const std::byte*>(code_->entry()), code_->bytes()};
}

Outcome Compiled::run(const Launch& launch, core::Threads& threads) const {
  const Grid& grid = launch.grid;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return Outcome::Done;
  const auto function = reinterpret_cast<Function>(const_cast<void*>(code_->entry()));
  Watch watch(launch);
  const bool grouped = lanes_ == Lanes::ByGroup;
  const uint64_t along_x = grouped ? grid[0] : grid[0] * workgroup_[0];
  const uint64_t rows_y = grid[1] * workgroup_[1], rows = rows_y * grid[2] * workgroup_[2];
  const uint64_t lanes = grouped ? workgroup_[0] : 1;
  const uint64_t worth = worth_a_thread(), worth_a_call = grouped ? kLanesWorthACall : worth;

  const bool measures = parts_ && !grouped;
  std::atomic<Clock::rep> spent{0};
  const auto call = [&](uint64_t row, uint64_t row_end, uint64_t x, uint64_t x_end) {
    alignas(64) std::byte rows[kRows * kRowBytes];
    Frame frame{.buffers = launch.buffers.data(),
                .scalars = launch.scalars.data(),
                .grid = {grid[0], grid[1], grid[2]},
                .x_begin = static_cast<int64_t>(x),
                .x_end = static_cast<int64_t>(x_end),
                .row_begin = static_cast<int64_t>(row),
                .row_end = static_cast<int64_t>(row_end),
                .rows_y = static_cast<int64_t>(rows_y),
                .y = row == 0 ? 0 : static_cast<int64_t>(row % rows_y),
                .z = row == 0 ? 0 : static_cast<int64_t>(row / rows_y),
                .cached = launch.non_temporal ? 0u : 1u,
                .fuel = kFuel,
                .more_fuel = more_fuel,
                .watch = &watch,
                .rows = rows};
    if (!watch.look()) throw Stopped{};
    const auto start = measures ? Clock::now() : Clock::time_point{};
    if (function(&frame) != 0) throw Stopped{};
    if (measures) spent.fetch_add((Clock::now() - start).count(), std::memory_order_relaxed);
    if (launch.progress != nullptr)
      launch.progress->done.fetch_add((row_end - row) * (x_end - x) * lanes,
                                      std::memory_order_relaxed);
  };

  const auto outcome_of = [&](const auto& work) {
    try {
      work();
    } catch (const Stopped&) {
      return watch.outcome.load();
    }
    if (measures) {
      const std::chrono::duration<float, std::nano> all = Clock::duration(spent.load());
      // Others may have had more to do than these: what lies behind the last of a workgroup does
      // nothing.
      constexpr float kForgets = 0.9f;
      const float before = time_of_lane_.load(std::memory_order_relaxed);
      time_of_lane_.store(
          std::max(all.count() / static_cast<float>(rows * along_x), kForgets * before),
          std::memory_order_relaxed);
    }
    return Outcome::Done;
  };

  // What one thread does in one call needs no plan.
  if (along_x * lanes <= worth_a_call && rows <= worth_a_call &&
      rows * along_x * lanes <= worth_a_call)
    return outcome_of([&] { call(0, rows, 0, along_x); });

  const core::Direction direction = core::alternate_direction();

  // Groups are few, and equal parts of them end together.
  if (grouped && rows == 1) {
    const uint64_t grain = std::max<uint64_t>(1, worth / lanes);
    const auto groups = [&](uint64_t begin, uint64_t end) {
      core::cut(begin, end, kGroups, direction,
                [&](uint64_t from, uint64_t to) { call(0, 1, from, to); });
    };
    return outcome_of([&] { threads.run(along_x, grain, groups, direction); });
  }

  if (!grouped && columns_ * along_x >= kLinesAtHand && along_x > kLanesOfTile && rows > 1) {
    const uint64_t tiles_x = (along_x + kLanesOfTile - 1) / kLanesOfTile;
    const uint64_t tiles_y = (rows + kRowsOfTile - 1) / kRowsOfTile;
    const auto tiles = [&](uint64_t begin, uint64_t end) {
      for (uint64_t tile = begin; tile < end; tile++) {
        const uint64_t row = tile / tiles_x * kRowsOfTile, x = tile % tiles_x * kLanesOfTile;
        call(row, std::min(rows, row + kRowsOfTile), x, std::min(along_x, x + kLanesOfTile));
      }
    };
    const uint64_t grain = std::max<uint64_t>(1, worth / (kRowsOfTile * kLanesOfTile));
    return outcome_of([&] { threads.run(tiles_x * tiles_y, grain, tiles, direction); });
  }

  // Short rows are taken several at a time, long ones are cut, but for what one thread does
  // forward and nobody watches.
  const bool whole = threads.count() == 1 && direction == core::Direction::Forward &&
                     !launch.deadline && launch.progress == nullptr;
  const uint64_t parts = whole ? 1 : static_cast<uint64_t>(threads.count()) * kPartsAThread;
  const auto equal = [&](uint64_t count) { return (count + parts - 1) / parts; };
  uint64_t most = kMostLanes;
  if (whole && !grouped) {
    most = std::max(along_x * rows, along_x);
  } else if (grouped) {
    const uint64_t least = std::max<uint64_t>(1, kLanesWorthACall / lanes);
    most = std::clamp(equal(along_x), least, std::max(least, kGroups));
  } else if (along_x < kMostLanes * parts * 2) {
    const uint64_t together = std::min(kLanesTogether, worth);
    most = (equal(along_x * rows) + together - 1) / together * together;
    most = std::clamp(most, worth, kLanes);
  }
  const uint64_t cuts = (along_x + most - 1) / most;
  const uint64_t part = cuts == 1 ? along_x : most;
  const uint64_t together = cuts == 1 ? std::max<uint64_t>(1, most / along_x) : 1;
  const auto body = [&](uint64_t begin, uint64_t end) {
    core::cut(begin, end, together, direction, [&](uint64_t from, uint64_t to) {
      if (cuts == 1) return call(from, to, 0, along_x);
      const uint64_t x = from % cuts * part;
      call(from / cuts, from / cuts + 1, x, std::min(along_x, x + part));
    });
  };
  const uint64_t grain = std::max<uint64_t>(1, worth_a_call / (part * lanes));
  return outcome_of([&] { threads.run(rows * cuts, grain, body, direction); });
}

}  // namespace hologram::jit
