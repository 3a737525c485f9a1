// The free pieces of a pool by size: four classes a doubling, a list each, and a bit for each list
// that is not empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hologram/memory.hpp"

namespace hologram::runtime {

struct Slab;

// A piece of a slab: a block in use, or free. Pieces are described apart from the memory, which the
// host may not be able to reach.
struct Chunk {
  Slab* slab = nullptr;
  uint64_t offset = 0, size = 0;               // multiples of kBlockAlignment
  Chunk *before = nullptr, *after = nullptr;   // neighbours in the slab
  Chunk *previous = nullptr, *next = nullptr;  // in a list of free pieces
  bool free = false;
};

inline constexpr uint64_t kBlockAlignment = 256;
inline constexpr size_t kSizeClasses = 219;  // sizes below 2^64

// The class whose sizes begin at or below `size`, a multiple of kBlockAlignment that is not 0.
size_t size_class(uint64_t size);
// The least size at which a class begins that is not below `size`.
uint64_t round_to_class(uint64_t size);

class FreeLists {
 public:
  void insert(Chunk& chunk);
  void remove(Chunk& chunk);
  // A piece of at least `size`, where a class begins, from the classes up to `last`; null if none.
  Chunk* find(uint64_t size, PoolStrategy strategy, size_t last = kSizeClasses - 1) const;
  // A piece of at least `size` from the class of `size` itself, whose pieces may be too small.
  Chunk* find_exact(uint64_t size) const;

 private:
  // The tightest of the first pieces of a list; null if none of them fits.
  static Chunk* tightest(Chunk* list, uint64_t size);
  size_t next_used(size_t from) const;  // kSizeClasses if none

  std::array<Chunk*, kSizeClasses> heads_{};
  std::array<uint64_t, (kSizeClasses + 63) / 64> used_{};
};

}  // namespace hologram::runtime
