// libhologram_peers.so, which `hologram bench` opens where it lies beside it: other ways of doing
// the same work, on as many threads.
#include "tools/hologram/peers.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <hwy/highway.h>

#include "loops.hpp"
#include "onednn.hpp"
#include "openblas.hpp"
#include "plain_loops.hpp"
#ifdef HOLOGRAM_BENCH_EIGEN
#include <Eigen/Core>

#include "eigen.hpp"
#define EIGEN(name) eigen::name
#else
#define EIGEN(name) nullptr
#endif

namespace {

struct Row {
  std::string_view work;
  const char* peer;
  loops::Loop (*loop)();  // null, or gives null: it does not take part
  HologramThreads threads = kHologramParts;
};

#define LOOPS(work, name)                                      \
  {work, "loop", loops::name}, {work, "gcc 256", plain256::name}, \
      {work, "gcc 512", plain512::name}
#define LOOPS_AND_EIGEN(work, name) LOOPS(work, name), {work, "Eigen", EIGEN(name)}

constexpr Row kRows[] = {
    LOOPS_AND_EIGEN("add", add),
    LOOPS_AND_EIGEN("fma", fma),
    LOOPS_AND_EIGEN("sigmoid", sigmoid),
    LOOPS_AND_EIGEN("twelve", twelve),
    LOOPS("gelu", gelu),
    LOOPS_AND_EIGEN("exp", exp),
    LOOPS_AND_EIGEN("sum", sum),
    LOOPS_AND_EIGEN("dot", dot),
    LOOPS_AND_EIGEN("row-sums", row_sums),
    LOOPS_AND_EIGEN("softmax", softmax),
    LOOPS("layer-norm", layer_norm),
    {"matmul", "oneDNN", onednn::matmul, kHologramOwnThreads},
    {"matmul", "oneDNN cut", onednn::matmul_rows, kHologramOnePart},
    {"matmul", "OpenBLAS", openblas::matmul, kHologramOwnThreads},
    {"matmul", "Eigen", EIGEN(matmul), kHologramOnePart},
    {"matmul-f64", "OpenBLAS", openblas::matmul_f64, kHologramOwnThreads},
    {"matmul-f64", "Eigen", EIGEN(matmul_f64), kHologramOnePart},
    {"vector-matrix", "oneDNN", onednn::vector_matrix, kHologramOwnThreads},
    {"vector-matrix", "OpenBLAS", openblas::vector_matrix, kHologramOwnThreads},
    {"matrix-vector", "oneDNN", onednn::matrix_vector, kHologramOwnThreads},
    {"matrix-vector", "OpenBLAS", openblas::matrix_vector, kHologramOwnThreads},
    {"matrix-vector", "Eigen", EIGEN(matrix_vector)},
    {"conv2d", "oneDNN", onednn::conv2d, kHologramOwnThreads},
    {"conv2d-1x1", "oneDNN", onednn::conv2d_1x1, kHologramOwnThreads},
    {"conv2d-depthwise", "oneDNN", onednn::conv2d_depthwise, kHologramOwnThreads},
    {"conv2d-stride2", "oneDNN", onednn::conv2d_stride2, kHologramOwnThreads},
    {"triad", "triad", loops::triad},
    {"read", "read", loops::sum},
};
#undef LOOPS_AND_EIGEN
#undef LOOPS

constexpr size_t kLanesWorthAThread = 8192;

}  // namespace

size_t hologram_peers_of(const char* work, HologramPeer* peers) {
  size_t count = 0;
  for (const Row& row : kRows) {
    if (row.work != work || row.loop == nullptr) continue;
    if (const loops::Loop loop = row.loop(); loop != nullptr)
      peers[count++] = {row.peer, loop, row.threads};
  }
  return count;
}

const char* hologram_peers_target() { return loops::target(); }

const char* hologram_peers_versions() {
  static const std::string all = [] {
    std::string text = fmt::format("g++ {}, Highway {}.{}.{}", __VERSION__, HWY_MAJOR, HWY_MINOR,
                                   HWY_PATCH);
#ifdef HOLOGRAM_BENCH_EIGEN
    text += fmt::format(", Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                        EIGEN_MINOR_VERSION);
#endif
    for (const std::string& library : {onednn::version(), openblas::version()})
      if (!library.empty()) text += ", " + library;
    return text;
  }();
  return all.c_str();
}

void hologram_peers_run(HologramPeer peer, const float* const* in, float* out, size_t count,
                        size_t columns, int to_one, int threads) {
  if (peer.threads == kHologramOwnThreads)
    return peer.loop(in, out, 0, static_cast<size_t>(threads), columns);
  static tbb::task_arena arena(tbb::task_arena::not_initialized);
  if (!arena.is_active() || arena.max_concurrency() != threads) {
    arena.terminate();
    arena.initialize(threads);
  }
  const bool finely = peer.threads == kHologramParts;
  const size_t grain = std::max<size_t>(1, kLanesWorthAThread / columns);
  const size_t share = (count + static_cast<size_t>(threads) - 1) / static_cast<size_t>(threads);
  std::mutex mutex;
  float sum = 0;
  const auto run = [&](size_t begin, size_t end) {
    if (to_one == 0) return peer.loop(in, out, begin, end, columns);
    float one = 0;
    peer.loop(in, &one, begin, end, columns);
    const std::lock_guard lock(mutex);
    sum += one;
  };
  if (threads <= 1) run(0, count);
  else if (finely)
    arena.execute([&] {
      tbb::parallel_for(tbb::blocked_range<size_t>(0, count, grain),
                        [&](const auto& part) { run(part.begin(), part.end()); });
    });
  else
    arena.execute([&] {
      tbb::parallel_for(size_t{0}, static_cast<size_t>(threads), [&](size_t k) {
        run(std::min(k * share, count), std::min((k + 1) * share, count));
      });
    });
  if (to_one != 0) out[0] = sum;
}
