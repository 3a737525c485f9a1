// What `hologram bench` measures itself against: functions of libhologram_peers.so, which is built
// by `ninja bench_peers` and need not be there.
#pragma once

#include <cstddef>

#if defined(HOLOGRAM_PEERS_BUILD)
#define HOLOGRAM_PEERS_API __attribute__((visibility("default")))
#else
#define HOLOGRAM_PEERS_API
#endif

extern "C" {

// out[i] for i in [begin, end); of rows: for the rows in it. Of a sum: out[0], of that part. A peer
// with threads of its own does all of the work; `end` says on how many, `columns` how many elements
// a side of the matrix or pixels a side of the image has. Of works of f64 the pointers are to
// double.
using HologramLoop = void (*)(const float* const* in, float* out, size_t begin, size_t end,
                              size_t columns);

enum HologramThreads {
  kHologramParts,      // many small parts for threads
  kHologramOnePart,    // one a thread
  kHologramOwnThreads  // it has its own
};

struct HologramPeer {
  const char* name;
  HologramLoop loop;
  HologramThreads threads;
};

enum { kHologramMostPeers = 8 };

// The peers of a work, or of a yardstick of memory bandwidth: "triad", a + 3 * b, or "read", the
// sum of all of the first input. Returns how many there are.
HOLOGRAM_PEERS_API size_t hologram_peers_of(const char* work, HologramPeer* peers);
// The instruction set of the loops, as Highway calls it.
HOLOGRAM_PEERS_API const char* hologram_peers_target();
// "oneDNN 2.6.3, OpenBLAS 0.3.21": the libraries, and the compiler of the loops.
HOLOGRAM_PEERS_API const char* hologram_peers_versions();
// All of `count` elements or rows of `columns`, on so many threads; to_one: a sum.
HOLOGRAM_PEERS_API void hologram_peers_run(HologramPeer peer, const float* const* in, float* out,
                                           size_t count, size_t columns, int to_one, int threads);
}
