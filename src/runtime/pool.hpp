// The memory pool of a device: blocks for results, cut from slabs.
//
// Requests are rounded up to a quarter of their power of two, so that a shape that grows finds the
// block that its predecessor let go. Blocks of up to 64 MiB share slabs, are cut to size and joined
// again; larger ones have a slab each, as all have on devices that do not divide buffers. A block
// that is let go stays with the pool, its pages populated, until `trim`, until memory is short, or
// until the slabs are twice what was ever in use.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/hal/device.hpp"
#include "hologram/memory.hpp"
#include "runtime/free_lists.hpp"

namespace hologram::runtime {

class Pool;

// Memory of a pool; returns to it when the Block is destroyed. Movable; the pool lives as long as
// any.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept
      : pool_(other.pool_),
        chunk_(std::exchange(other.chunk_, nullptr)),
        binding_(std::exchange(other.binding_, {})) {}
  Block& operator=(Block&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = other.pool_;
      chunk_ = std::exchange(other.chunk_, nullptr);
      binding_ = std::exchange(other.binding_, {});
    }
    return *this;
  }
  ~Block() { reset(); }

  // The part of a slab that was asked for: its size is exact, its offset a multiple of 256. There
  // is a buffer even for no bytes. The memory holds whatever was written there before.
  const hal::Binding& binding() const { return binding_; }
  explicit operator bool() const { return chunk_ != nullptr; }
  void reset() noexcept;

 private:
  friend class Pool;
  Block(Pool* pool, Chunk* chunk, const hal::Binding& binding)
      : pool_(pool), chunk_(chunk), binding_(binding) {}

  Pool* pool_ = nullptr;
  Chunk* chunk_ = nullptr;
  hal::Binding binding_;
};

// Thread-safe. Its blocks may outlive whoever made it.
class Pool {
 public:
  // InvalidConfig, or OutOfMemory for an initial_size that is not to be had.
  static std::shared_ptr<Pool> make(std::shared_ptr<hal::Device> device, const PoolConfig& config);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Memory of `bytes`, which may be 0. OutOfMemory if the limit or the device does not allow it.
  Block allocate(uint64_t bytes);
  // Gives every slab without a block in use back to the device; returns their bytes.
  uint64_t trim();
  PoolStatistics statistics() const;

 private:
  friend class Block;
  using Lock = std::unique_lock<std::mutex>;
  using Buffers = std::vector<std::unique_ptr<hal::Buffer>>;

  Pool(std::shared_ptr<hal::Device> device, const PoolConfig& config);
  ~Pool();
  void abandon() noexcept;
  void release(Chunk& chunk, uint64_t bytes) noexcept;
  void give_back(Chunk& chunk);
  Chunk* take_resting(uint64_t size);
  bool wake();
  Chunk* take_cached(uint64_t least, uint64_t size);
  Chunk* take_from_device(Lock& lock, uint64_t bytes, uint64_t least, uint64_t size);
  std::unique_ptr<hal::Buffer> ask_device(uint64_t size) const;  // null if out of memory
  Error out_of_memory(uint64_t bytes) const;

  Chunk& add_slab(std::unique_ptr<hal::Buffer> buffer, uint64_t size, bool own);
  Chunk* cut(Chunk& chunk, uint64_t size);
  Chunk& join(Chunk& chunk);
  void join_all();
  FreeLists& lists_of(const Chunk& chunk);
  Chunk& describe(const Chunk& chunk);
  void forget(Chunk& chunk);

  uint64_t shared_slab_size() const;
  uint64_t slab_limit(uint64_t bytes) const;
  Buffers remove_slabs(uint64_t keep);

  const std::shared_ptr<hal::Device> device_;
  const PoolConfig config_;
  const uint64_t device_bytes_;  // the most that the device could ever give
  const uint64_t most_shared_;   // larger blocks have a slab of their own

  mutable std::mutex mutex_;
  bool abandoned_ = false;  // it goes with the last of its blocks
  std::vector<std::unique_ptr<Slab>> slabs_;
  FreeLists shared_, own_;     // of slabs with several blocks, and with one
  std::deque<Chunk> chunks_;   // all that there ever were at a time
  Chunk* unused_ = nullptr;    // of these, those that describe nothing
  PoolStatistics statistics_;  // cached_bytes and slab_bytes, too, are kept here
  uint64_t asked_ = 0;         // live bytes and those of requests under way
  uint64_t coming_ = 0;        // bytes of slabs that the device is being asked for
  uint64_t releases_ = 0;      // tells which slab has been free for longest
  // Small blocks that were let go last, not joined with their neighbours. They are the first that
  // are taken again, by who wants as much. But if `rests_`, they are the last: whoever got one at
  // once would have to wait for those that read it.
  const bool rests_;
  std::array<Chunk*, 4> resting_{};
  size_t longest_resting_ = 0;
};

}  // namespace hologram::runtime
