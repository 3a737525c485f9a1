// libhologram_peers.so, which `hologram bench` opens where it lies beside it: other ways of doing
// the same work, on as many threads.
#include "tools/hologram/peers.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "loops.hpp"
#include "onednn.hpp"
#ifdef HOLOGRAM_BENCH_EIGEN
#include "eigen.hpp"
#define EIGEN(name) eigen::name
#else
#define EIGEN(name) nullptr
#endif

namespace {

struct Row {
  std::string_view work;
  loops::Loop (*by_hand)();
  loops::Loop (*by_eigen)();
};
constexpr Row kRows[] = {
    {"add", loops::add, EIGEN(add)},
    {"fma", loops::fma, EIGEN(fma)},
    {"sigmoid", loops::sigmoid, EIGEN(sigmoid)},
    {"twelve", loops::twelve, EIGEN(twelve)},
    {"sum", loops::sum, EIGEN(sum)},
    {"row-sums", loops::row_sums, EIGEN(row_sums)},
    {"softmax", loops::softmax, EIGEN(softmax)},
    {"matmul", nullptr, EIGEN(matmul)},
};

constexpr size_t kLanesWorthAThread = 8192;

}  // namespace

size_t hologram_peers_of(const char* work, HologramPeer* peers) {
  size_t count = 0;
  for (const Row& row : kRows) {
    if (row.work != work) continue;
    if (row.by_hand != nullptr) peers[count++] = {"loop", row.by_hand(), 0};
    if (row.by_eigen != nullptr) peers[count++] = {"Eigen", row.by_eigen(), 0};
  }
  if (std::string_view(work) == "triad") peers[count++] = {"triad", loops::triad(), 0};
  if (std::string_view(work) == "conv2d" && onednn::conv2d() != nullptr)
    peers[count++] = {"oneDNN", onednn::conv2d(), 1};
  return count;
}

const char* hologram_peers_target() { return loops::target(); }

void hologram_peers_run(HologramLoop loop, const float* const* in, float* out, size_t count,
                        size_t columns, int to_one, int threads) {
  static tbb::task_arena arena(tbb::task_arena::not_initialized);
  if (!arena.is_active() || arena.max_concurrency() != threads) {
    arena.terminate();
    arena.initialize(threads);
  }
  const size_t grain = std::max<size_t>(1, kLanesWorthAThread / columns);
  const tbb::blocked_range<size_t> all(0, count, grain);
  std::mutex mutex;
  float sum = 0;
  const auto run = [&](const tbb::blocked_range<size_t>& part) {
    if (to_one == 0) return loop(in, out, part.begin(), part.end(), columns);
    float one = 0;
    loop(in, &one, part.begin(), part.end(), columns);
    const std::lock_guard lock(mutex);
    sum += one;
  };
  if (threads <= 1) run(all);
  else arena.execute([&] { tbb::parallel_for(all, run); });
  if (to_one != 0) out[0] = sum;
}
