// The memory of a device: every Executor takes large pieces (slabs) from it and cuts the blocks
// that hold results out of them. Blocks that are let go are kept for the next result of about that
// size.
#pragma once

#include <cstdint>

namespace hologram {

// Which of the free blocks serves a request.
enum class PoolStrategy : uint8_t {
  BestFit,   // the tightest of those that fit: wastes least, the default
  FirstFit,  // the one freed last among those sure to fit: constant time, warm in the caches
};

struct PoolConfig {
  // Bytes taken from the device when the Executor is made. InvalidConfig if more than max_size.
  uint64_t initial_size = 0;
  // The most bytes in use at a time; what is beyond is OutOfMemory. 0: as much as the device has.
  // Where BackendConfig::cache_size_mb is set too, the smaller of both counts.
  uint64_t max_size = 0;
  PoolStrategy strategy = PoolStrategy::BestFit;
  // Free neighbours are joined at once, so that they serve larger requests. Without it, only when
  // nothing else fits: quicker where the same few sizes come again and again.
  bool enable_defrag = true;
};

struct PoolStatistics {
  uint64_t live_bytes = 0;       // in use, as asked for
  uint64_t live_blocks = 0;      // in use
  uint64_t cached_bytes = 0;     // free, kept for reuse
  uint64_t slab_bytes = 0;       // taken from the device: in use, lost to rounding, or cached
  uint64_t peak_live_bytes = 0;  // the most that live_bytes has been
  uint64_t allocations = 0;      // requests that were served
  uint64_t reuses = 0;           // of these, those that took nothing from the device
  uint64_t failures = 0;         // requests that ended in an error
};

}  // namespace hologram
