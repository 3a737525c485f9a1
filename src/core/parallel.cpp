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
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace hologram::core {
namespace {

// oneTBB is not built with the thread sanitizer, so the sanitizer does not see the order that it
// makes: all before a loop happens before its parts, and they before all after it. Told here.
class LoopOrder {
 public:
#ifdef HOLOGRAM_THREAD_SANITIZER
  LoopOrder() { __tsan_release(&begun_); }
  ~LoopOrder() { __tsan_acquire(&ended_); }
  struct Part {
    explicit Part(LoopOrder& loop) : loop(loop) { __tsan_acquire(&loop.begun_); }
    ~Part() { __tsan_release(&loop.ended_); }
    LoopOrder& loop;
  };

 private:
  char begun_ = 0, ended_ = 0;
#else
  struct Part {
    explicit Part(const LoopOrder&) {}
  };
#endif
};

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
  LoopOrder order;
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<uint64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<uint64_t>& range) {
          [[maybe_unused]] const LoopOrder::Part part(order);
          for (uint64_t p = range.begin(); p < range.end(); p++)
            body(p * size, std::min(n, (p + 1) * size));
        },
        tbb::simple_partitioner());
  });
}

}  // namespace hologram::core
