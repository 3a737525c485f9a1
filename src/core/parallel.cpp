#include "core/parallel.hpp"

#include <sched.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

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

struct Threads::Arena {
  explicit Arena(int count) : arena(count) {}
  tbb::task_arena arena;
};

Threads::Threads(int count) : count_(count > 0 ? count : available_threads()) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;

void Threads::run(uint64_t n, uint64_t grain, FunctionRef<void(uint64_t, uint64_t)> body) {
  if (n == 0) return;
  const uint64_t parts = static_cast<uint64_t>(count_) * 4;
  const uint64_t size = std::max<uint64_t>(std::max<uint64_t>(grain, 1), (n + parts - 1) / parts);
  if (count_ == 1 || n <= size) {
    body(0, n);
    return;
  }
  const uint64_t pieces = (n + size - 1) / size;
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<uint64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<uint64_t>& range) {
          for (uint64_t p = range.begin(); p < range.end(); p++)
            body(p * size, std::min(n, (p + 1) * size));
        },
        tbb::simple_partitioner());
  });
}

}  // namespace hologram::core
