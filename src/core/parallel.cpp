#include "core/parallel.hpp"

#include <sched.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLOGRAM_THREAD_SANITIZER 1
#include <atomic>
#include <exception>
#include <vector>
#endif
#endif

namespace hologram::core {
namespace {

// The CPU quota of the process's cgroup (version 2, as the process sees its root), in CPUs; 0 if
// there is none.
double cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

}  // namespace

int available_threads() {
  int count = 0;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
  if (count <= 0) count = static_cast<int>(std::thread::hardware_concurrency());
  if (const double quota = cgroup_quota(); quota > 0)
    count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(1, count);
}

// oneTBB loses some memory with every arena that was used and destroyed, so an arena waits for the
// next Threads of its size instead.
struct Threads::Arena {
  explicit Arena(int count) : arena(count) {}
  tbb::task_arena arena;
  std::unique_ptr<Arena> next;  // in the list of those that wait
};

class Threads::Arenas {
 public:
  std::unique_ptr<Arena> take(int count) {
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<Arena>* at = &waiting_; *at; at = &(*at)->next)
      if ((*at)->arena.max_concurrency() == count) {
        std::unique_ptr<Arena> found = std::move(*at);
        *at = std::move(found->next);
        return found;
      }
    return std::make_unique<Arena>(count);
  }
  void give_back(std::unique_ptr<Arena> arena) {
    const std::lock_guard lock(mutex_);
    arena->next = std::move(waiting_);
    waiting_ = std::move(arena);
  }
  // Never destroyed: worker threads may still be there when static objects go.
  static Arenas& all() {
    static auto* arenas = new Arenas;
    return *arenas;
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Arena> waiting_;
};

namespace {

// More threads than processors are rarely wanted, but asked for now and then. oneTBB would print a
// warning and ignore them, unless its limit is raised first.
void allow(int count) {
  if (count <= tbb::info::default_concurrency()) return;
  static std::mutex mutex;
  static tbb::global_control* limit = nullptr;  // never destroyed, like the arenas
  static int allowed = 0;
  const std::lock_guard lock(mutex);
  if (count <= allowed) return;
  // The lowest of all limits holds, so the old one has to go first.
  delete limit;
  limit = new tbb::global_control(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(count));
  allowed = count;
}

}  // namespace

Threads::Threads(int count) : count_(count > 0 ? count : available_threads()) {
  if (count_ < 2) return;
  allow(count_);
  arena_ = Arenas::all().take(count_);
}

Threads::~Threads() {
  if (arena_) Arenas::all().give_back(std::move(arena_));
}

void Threads::run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body) {
  if (n == 0) return;
  const uint64_t parts = static_cast<uint64_t>(count_) * 4;
  const uint64_t size = std::max<uint64_t>(std::max<uint64_t>(grain, 1), (n + parts - 1) / parts);
  if (count_ == 1 || n <= size) {
    body(0, n);
    return;
  }
  const uint64_t pieces = (n + size - 1) / size;
#ifdef HOLOGRAM_THREAD_SANITIZER
  run_on_plain_threads(pieces, [&](uint64_t p) { body(p * size, std::min(n, (p + 1) * size)); });
#else
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<uint64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<uint64_t>& range) {
          for (uint64_t p = range.begin(); p < range.end(); p++)
            body(p * size, std::min(n, (p + 1) * size));
        },
        tbb::simple_partitioner());
  });
#endif
}

#ifdef HOLOGRAM_THREAD_SANITIZER
// oneTBB is not built with the thread sanitizer, which then does not see the order that it makes
// and reports races of its own. The parts of a loop are what is to be watched: here they run on
// threads that the sanitizer knows.
void Threads::run_on_plain_threads(uint64_t pieces, FunctionRef<void(uint64_t)> piece) const {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (uint64_t p = next++; p < pieces; p = next++) piece(p);
    } catch (...) {
      next = pieces;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < count_; t++) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}
#endif

}  // namespace hologram::core
