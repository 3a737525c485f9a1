#include "interp/interpreter.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>

#include "core/wait.hpp"
#include "interp/checker.hpp"
#include "interp/machine.hpp"

namespace hologram::interp {
namespace {

// How the grid is cut into blocks: items are numbered row by row.
struct Blocks {
  uint64_t along_x = 1;  // blocks in a row
  uint64_t lanes_x = 1;  // lanes in a row
  uint64_t rows_y = 1, rows_z = 1;
  uint64_t lanes = 1;  // of a full block
  uint64_t count() const { return along_x * rows_y * rows_z; }
};

constexpr uint64_t kLanesWorthAThread = 8192;

Blocks cut(const Bytecode& code, const Grid& grid, int threads) {
  Blocks b;
  if (code.cooperative) {
    b.along_x = grid[0];
    b.rows_y = grid[1];
    b.rows_z = grid[2];
    b.lanes = code.block_lanes;
    return b;
  }
  b.lanes_x = grid[0] * code.workgroup[0];
  b.rows_y = grid[1] * code.workgroup[1];
  b.rows_z = grid[2] * code.workgroup[2];
  // Even blocks, and at least one a thread where the row is long enough.
  uint64_t most = code.block_lanes;
  if (b.rows_y * b.rows_z == 1 && b.lanes_x > kLanesWorthAThread / 4)
    most = std::min(
        most, (b.lanes_x + static_cast<uint64_t>(threads) - 1) / static_cast<uint64_t>(threads));
  b.along_x = std::max<uint64_t>(1, (b.lanes_x + most - 1) / most);
  b.lanes = (b.lanes_x + b.along_x - 1) / b.along_x;
  b.lanes = std::min<uint64_t>((b.lanes + kGroup - 1) / kGroup * kGroup, code.block_lanes);
  b.along_x = (b.lanes_x + b.lanes - 1) / std::max<uint64_t>(1, b.lanes);
  return b;
}

// The machines of a launch, handed from chunk to chunk: those that were kept, and new ones.
class Crew {
 public:
  Crew(LaunchState& state, Machines* kept) : state_(state), kept_(kept) {}
  ~Crew() {
    if (state_.stop) return;  // what a machine was doing then is not over
    for (auto& machine : free_) retire(std::move(machine));
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Before the first chunk, and so before anything is written, there is one machine at least.
  void prepare(int threads) {
    free_.reserve(static_cast<size_t>(threads));
    free_.push_back(hire());
  }
  // Where there is no memory for another one, a thread waits for one of those that there are.
  std::unique_ptr<Machine> take() {
    if (std::unique_ptr<Machine> machine = take_free()) return machine;
    try {
      return hire();
    } catch (const std::bad_alloc&) {
      std::unique_lock lock(mutex_);
      core::wait(given_back_, lock, [&] { return !free_.empty(); });
      return pop();
    }
  }
  void give_back(std::unique_ptr<Machine> machine) noexcept {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(machine));  // there is room for one a thread
    }
    given_back_.notify_one();
  }
  std::unique_ptr<Machine> hire() {
    std::unique_ptr<Machine> machine = kept_ != nullptr ? kept_->take() : nullptr;
    if (machine == nullptr) machine = std::make_unique<Machine>(state_.code);
    machine->begin(state_);
    return machine;
  }
  void retire(std::unique_ptr<Machine> machine) {
    if (kept_ != nullptr) kept_->give_back(std::move(machine));
  }

 private:
  std::unique_ptr<Machine> take_free() {
    const std::lock_guard lock(mutex_);
    return free_.empty() ? nullptr : pop();
  }
  std::unique_ptr<Machine> pop() {
    std::unique_ptr<Machine> machine = std::move(free_.back());
    free_.pop_back();
    return machine;
  }

  LaunchState& state_;
  Machines* kept_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Machine>> free_;
};

void run_block(Machine& machine, const Bytecode& code, const Blocks& blocks, uint64_t item,
               Checker* checker) {
  const uint64_t row = item / blocks.along_x;
  const auto x = static_cast<int64_t>(item % blocks.along_x);
  const auto y = static_cast<int64_t>(row % blocks.rows_y);
  const auto z = static_cast<int64_t>(row / blocks.rows_y);
  if (code.cooperative) return machine.run_group(x, y, z);
  const uint64_t first = static_cast<uint64_t>(x) * blocks.lanes;
  if (checker != nullptr) checker->begin_lanes(first);
  machine.run_lanes(static_cast<int64_t>(first),
                    static_cast<uint32_t>(std::min(blocks.lanes, blocks.lanes_x - first)), y, z);
}

}  // namespace

Machines::~Machines() {
  for (auto& place : waiting_) delete place.load(std::memory_order_acquire);
}

std::unique_ptr<Machine> Machines::take() {
  for (auto& place : waiting_)
    if (place.load(std::memory_order_relaxed) != nullptr)
      if (Machine* found = place.exchange(nullptr, std::memory_order_acquire))
        return std::unique_ptr<Machine>(found);
  return nullptr;
}

void Machines::give_back(std::unique_ptr<Machine> machine) {
  for (auto& place : waiting_) {
    Machine* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, machine.get(), std::memory_order_release)) {
      static_cast<void>(machine.release());
      return;
    }
  }
}

Outcome execute(const Bytecode& code, const Launch& launch, core::Threads& threads,
                Machines* kept) {
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) return Outcome::Done;
  LaunchState state{.code = code, .launch = launch};
  std::unique_ptr<Checker> checker;
  if (launch.check) {
    checker = std::make_unique<Checker>(code);
    state.checker = checker.get();
  }
  Crew crew(state, kept);
  const Blocks blocks = cut(code, launch.grid, threads.count());
  const uint64_t count = blocks.count();
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](Machine& machine, uint64_t begin, uint64_t end) {
    try {
      for (uint64_t i = begin; i < end; i++) {
        run_block(machine, code, blocks, i, checker.get());
        if (launch.progress != nullptr)
          launch.progress->done.fetch_add(machine.lanes(), std::memory_order_relaxed);
      }
    } catch (const Stopped&) {
      state.stop = true;
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      state.stop = true;
    }
  };
  if (checker || count == 1) {  // no threads, and nothing for them
    std::unique_ptr<Machine> machine = crew.hire();
    run(*machine, 0, count);
    if (!state.stop) crew.retire(std::move(machine));
  } else {
    crew.prepare(threads.count());
    const uint64_t grain = std::max<uint64_t>(1, kLanesWorthAThread / blocks.lanes);
    threads.run(count, grain, [&](uint64_t begin, uint64_t end) {
      std::unique_ptr<Machine> machine = crew.take();
      run(*machine, begin, end);
      crew.give_back(std::move(machine));
    });
  }
  if (failure) std::rethrow_exception(failure);
  return state.outcome;
}

}  // namespace hologram::interp
