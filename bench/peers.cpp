// libhologram_peers.so, which `hologram bench` opens where it lies beside it: other ways of doing
// the same work, on as many threads.
#include "tools/hologram/peers.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <hwy/highway.h>

#include "core/parallel.hpp"
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

// Loops on threads of ours, each null if there is none.
struct Loops {
  std::string_view work;
  loops::Loop (*by_hand)();
  loops::Loop (*plain256)();
  loops::Loop (*plain512)();
  loops::Loop (*by_eigen)();
};
#define LOOPS(name) loops::name, plain256::name, plain512::name
constexpr Loops kLoops[] = {
    {"add", LOOPS(add), EIGEN(add)},
    {"fma", LOOPS(fma), EIGEN(fma)},
    {"sigmoid", LOOPS(sigmoid), EIGEN(sigmoid)},
    {"twelve", LOOPS(twelve), EIGEN(twelve)},
    {"gelu", LOOPS(gelu), nullptr},
    {"exp", LOOPS(exp), EIGEN(exp)},
    {"sum", LOOPS(sum), EIGEN(sum)},
    {"dot", LOOPS(dot), EIGEN(dot)},
    {"row-sums", LOOPS(row_sums), EIGEN(row_sums)},
    {"softmax", LOOPS(softmax), EIGEN(softmax)},
    {"layer-norm", LOOPS(layer_norm), nullptr},
    {"matrix-vector", nullptr, nullptr, nullptr, EIGEN(matrix_vector)},
};
#undef LOOPS

struct Library {
  std::string_view work;
  const char* name;
  loops::Loop (*loop)();  // null, or gives null, where it is not installed
  HologramThreads threads = kHologramOwnThreads;
};
constexpr Library kLibraries[] = {
    {"matmul", "oneDNN", onednn::matmul},
    {"matmul", "oneDNN cut", onednn::matmul_rows, kHologramOnePart},
    {"matmul", "OpenBLAS", openblas::matmul},
    {"matmul", "Eigen", EIGEN(matmul), kHologramOnePart},
    {"matmul-f64", "OpenBLAS", openblas::matmul_f64},
    {"matmul-f64", "Eigen", EIGEN(matmul_f64), kHologramOnePart},
    {"vector-matrix", "oneDNN", onednn::vector_matrix},
    {"vector-matrix", "OpenBLAS", openblas::vector_matrix},
    {"matrix-vector", "oneDNN", onednn::matrix_vector},
    {"matrix-vector", "OpenBLAS", openblas::matrix_vector},
    {"conv2d", "oneDNN", onednn::conv2d},
    {"conv2d-1x1", "oneDNN", onednn::conv2d_1x1},
    {"conv2d-depthwise", "oneDNN", onednn::conv2d_depthwise},
    {"conv2d-stride2", "oneDNN", onednn::conv2d_stride2},
    {"triad", "triad", loops::triad, kHologramParts},
    {"read", "read", loops::sum, kHologramParts},
};

constexpr size_t kLanesWorthAThread = 8192;

}  // namespace

size_t hologram_peers_of(const char* work, HologramPeer* peers) {
  size_t count = 0;
  const auto add = [&](const char* name, loops::Loop (*of)(), HologramThreads threads) {
    const loops::Loop loop = of == nullptr ? nullptr : of();
    if (loop != nullptr) peers[count++] = {name, loop, threads};
  };
  for (const Loops& row : kLoops) {
    if (row.work != work) continue;
    add("loop", row.by_hand, kHologramParts);
    add("gcc 256", row.plain256, kHologramParts);
    add("gcc 512", row.plain512, kHologramParts);
    add("Eigen", row.by_eigen, kHologramParts);
  }
  for (const Library& row : kLibraries)
    if (row.work == work) add(row.name, row.loop, row.threads);
  return count;
}

const char* hologram_peers_target() { return loops::target(); }

const char* hologram_peers_versions() {
  static const std::string all = [] {
    std::string text =
        fmt::format("g++ {}, Highway {}.{}.{}", __VERSION__, HWY_MAJOR, HWY_MINOR, HWY_PATCH);
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
  // On threads as hologram's own.
  static std::optional<hologram::core::Threads> pool;
  if (!pool || pool->count() != threads) pool.emplace(threads);
  if (finely) pool->run(count, grain, run);
  else
    pool->run(static_cast<uint64_t>(threads), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t k = begin; k < end; k++)
        run(std::min(k * share, count), std::min((k + 1) * share, count));
    });
  if (to_one != 0) out[0] = sum;
}
