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
// with threads of its own does all of the work; `end` says on how many, `columns` how many pixels a
// side of the image has.
using HologramLoop = void (*)(const float* const* in, float* out, size_t begin, size_t end,
                              size_t columns);

struct HologramPeer {
  const char* name;
  HologramLoop loop;
  int own_threads;
};

enum { kHologramMostPeers = 4 };

// The peers of a work, or of "triad", a + 3 * b, the yardstick of memory bandwidth. Returns how
// many there are.
HOLOGRAM_PEERS_API size_t hologram_peers_of(const char* work, HologramPeer* peers);
// The instruction set of the loops, as Highway calls it.
HOLOGRAM_PEERS_API const char* hologram_peers_target();
// A loop over `count` elements or rows of `columns`, on so many threads; to_one: a sum.
HOLOGRAM_PEERS_API void hologram_peers_run(HologramLoop loop, const float* const* in, float* out,
                                           size_t count, size_t columns, int to_one, int threads);
}
