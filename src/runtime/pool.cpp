#include "runtime/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>

#include "core/messages.hpp"

namespace hologram::runtime {

// Memory as the device gave it.
struct Slab {
  std::unique_ptr<hal::Buffer> buffer;
  uint64_t size = 0;
  Chunk* first = nullptr;
  bool own = false;         // of one block, never cut
  uint64_t freed_last = 0;  // the release that left it without a block in use

  bool is_free() const { return first->free && first->after == nullptr; }
};

namespace {

using core::Text;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLeastSlab = 2 * kMiB;
constexpr uint64_t kMostShared = 64 * kMiB;
constexpr uint64_t kWorthKeeping = 256 * kMiB;
constexpr uint64_t kMostResting = kMiB;
// A slab of its own serves requests from two classes, a third, below its size.
constexpr size_t kClassesOfSlack = 2;

PoolConfig checked(const PoolConfig& config) {
  if (config.max_size > 0 && config.initial_size > config.max_size)
    throw core::error(Text::BadConfigValue, "PoolConfig::initial_size", config.initial_size,
                      fmt::format("at most max_size, {}", config.max_size), "");
  return config;
}

uint64_t round_up(uint64_t bytes) {
  return std::max(kBlockAlignment,
                  (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
}

}  // namespace

void Block::reset() noexcept {
  if (chunk_ != nullptr) pool_->release(*std::exchange(chunk_, nullptr), binding_.size);
  binding_ = {};
}

std::shared_ptr<Pool> Pool::make(std::shared_ptr<hal::Device> device, const PoolConfig& config) {
  return {new Pool(std::move(device), config), [](Pool* pool) { pool->abandon(); }};
}

Pool::Pool(std::shared_ptr<hal::Device> device, const PoolConfig& config)
    : device_(std::move(device)),
      config_(checked(config)),
      device_bytes_(device_->info().total_memory > 0 ? device_->info().total_memory
                                                     : uint64_t{1} << 56),
      most_shared_(device_->suballocates() ? kMostShared : 0),
      rests_(device_->overlaps_launches()) {
  if (config_.initial_size == 0) return;
  if (config_.initial_size > device_bytes_) throw out_of_memory(config_.initial_size);
  if (most_shared_ == 0) return;  // which blocks will be asked for is not known yet
  const uint64_t size = round_up(config_.initial_size);
  std::unique_ptr<hal::Buffer> buffer = ask_device(size);
  if (buffer == nullptr) throw out_of_memory(config_.initial_size);
  shared_.insert(add_slab(std::move(buffer), size, false));
  statistics_.cached_bytes += size;
}

Pool::~Pool() = default;

void Pool::abandon() noexcept {
  {
    const Lock lock(mutex_);
    abandoned_ = true;
    if (statistics_.live_blocks > 0) return;
  }
  delete this;
}

Block Pool::allocate(uint64_t bytes) {
  Lock lock(mutex_);
  const uint64_t limit = config_.max_size > 0 ? config_.max_size : UINT64_MAX;
  if (bytes > device_bytes_ || asked_ > limit || bytes > limit - asked_) {
    statistics_.failures++;
    throw out_of_memory(bytes);
  }
  const uint64_t least = round_up(bytes), size = round_to_class(least);
  asked_ += bytes;
  Chunk* chunk = nullptr;
  try {
    chunk = take_cached(least, size);
    if (chunk != nullptr) statistics_.reuses++;
    else chunk = take_from_device(lock, bytes, least, size);
  } catch (...) {
    asked_ -= bytes;
    statistics_.failures++;
    throw;
  }
  statistics_.allocations++;
  statistics_.live_blocks++;
  statistics_.live_bytes += bytes;
  statistics_.peak_live_bytes = std::max(statistics_.peak_live_bytes, statistics_.live_bytes);
  return {this, chunk, {chunk->slab->buffer.get(), chunk->offset, bytes}};
}

// All work is launched on one stream with the results of one that runs in order, so that whoever
// takes this memory next writes to it after everything that used it: it is free at once. Where a
// device has several streams, this is the place to note the hal::Point of the last use beside the
// piece, and take_cached the one to pass over pieces whose point has not come.
void Pool::release(Chunk& chunk, uint64_t bytes) noexcept {
  Lock lock(mutex_);
  if (--statistics_.live_blocks == 0 && abandoned_) {
    lock.unlock();
    delete this;
    return;
  }
  asked_ -= bytes;
  statistics_.live_bytes -= bytes;
  statistics_.cached_bytes += chunk.size;
  if (chunk.size > kMostResting) return give_back(chunk);
  Chunk* const rested = std::exchange(resting_[longest_resting_++ % resting_.size()], &chunk);
  if (rested != nullptr) give_back(*rested);
}

void Pool::give_back(Chunk& chunk) {
  Chunk& whole = config_.enable_defrag ? join(chunk) : chunk;
  lists_of(whole).insert(whole);
  whole.slab->freed_last = ++releases_;
}

Chunk* Pool::take_resting(uint64_t size) {
  for (Chunk*& resting : resting_)
    if (resting != nullptr && resting->size == size) {
      statistics_.cached_bytes -= size;
      return std::exchange(resting, nullptr);
    }
  return nullptr;
}

// No block rests any longer; false if none did.
bool Pool::wake() {
  bool any = false;
  for (Chunk*& resting : resting_)
    if (Chunk* const chunk = std::exchange(resting, nullptr); chunk != nullptr) {
      give_back(*chunk);
      any = true;
    }
  return any;
}

// A free piece of at least `least` bytes, cut to `size` if it is larger; null if there is none.
Chunk* Pool::take_cached(uint64_t least, uint64_t size) {
  const auto find = [&]() -> Chunk* {
    if (size > most_shared_) {
      const size_t last = std::min(size_class(size) + kClassesOfSlack, kSizeClasses - 1);
      Chunk* found = own_.find(size, config_.strategy, last);
      return found != nullptr ? found : own_.find_exact(least);
    }
    Chunk* found = shared_.find(size, config_.strategy);
    return found != nullptr ? found : shared_.find_exact(least);
  };
  Chunk* found = rests_ ? nullptr : take_resting(size);
  if (found != nullptr) return found;
  found = find();
  if (found == nullptr && wake()) found = find();
  if (found == nullptr && !config_.enable_defrag) {
    join_all();
    found = find();
  }
  return found == nullptr ? nullptr : cut(*found, size);
}

// A piece of a new slab. The lock is open while the device works.
Chunk* Pool::take_from_device(Lock& lock, uint64_t bytes, uint64_t least, uint64_t size) {
  const bool own = size > most_shared_;
  uint64_t slab_size = own ? size : std::max(size, shared_slab_size());
  const uint64_t limit = slab_limit(bytes);
  Buffers surplus = remove_slabs(limit > slab_size ? limit - slab_size : 0);
  coming_ += slab_size;
  const uint64_t announced = slab_size;
  lock.unlock();
  surplus.clear();
  std::unique_ptr<hal::Buffer> buffer;
  try {
    buffer = ask_device(slab_size);
    if (buffer == nullptr) {
      trim();
      slab_size = least;
      buffer = ask_device(slab_size);
    }
  } catch (...) {
    lock.lock();
    coming_ -= announced;
    throw;
  }
  lock.lock();
  coming_ -= announced;
  if (buffer == nullptr) {
    // Another thread may have let something go in the meantime.
    Chunk* found = take_cached(least, size);
    if (found == nullptr) throw out_of_memory(bytes);
    statistics_.reuses++;
    return found;
  }
  Chunk& whole = add_slab(std::move(buffer), slab_size, own);
  lists_of(whole).insert(whole);
  statistics_.cached_bytes += slab_size;
  return cut(whole, size);
}

std::unique_ptr<hal::Buffer> Pool::ask_device(uint64_t size) const {
  try {
    return device_->allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::OutOfMemory) return nullptr;
    throw;
  }
}

Error Pool::out_of_memory(uint64_t bytes) const {
  std::string there =
      fmt::format(": {} are in use, {} cached", statistics_.live_bytes, statistics_.cached_bytes);
  if (bytes > device_bytes_)
    there = fmt::format(", more than its {} in all", device_bytes_) + there;
  else if (config_.max_size > 0) there += fmt::format(", {} allowed", config_.max_size);
  return core::error(Text::OutOfMemory, device_->info().name, bytes, there);
}

// The piece that describes the whole slab, in no list.
Chunk& Pool::add_slab(std::unique_ptr<hal::Buffer> buffer, uint64_t size, bool own) {
  auto slab = std::make_unique<Slab>();
  Chunk& whole = describe({.slab = slab.get(), .offset = 0, .size = size});
  slab->buffer = std::move(buffer);
  slab->size = size;
  slab->first = &whole;
  slab->own = own;
  slabs_.push_back(std::move(slab));
  statistics_.slab_bytes += size;
  return whole;
}

// Takes a piece out of its list, and puts what is beyond `size` back as a piece of its own.
Chunk* Pool::cut(Chunk& chunk, uint64_t size) {
  Chunk* rest = nullptr;
  if (!chunk.slab->own && chunk.size > size) {
    rest = &describe({.slab = chunk.slab,
                      .offset = chunk.offset + size,
                      .size = chunk.size - size,
                      .before = &chunk,
                      .after = chunk.after});
  }
  lists_of(chunk).remove(chunk);
  if (rest != nullptr) {
    if (rest->after != nullptr) rest->after->before = rest;
    chunk.after = rest;
    chunk.size = size;
    shared_.insert(*rest);
  }
  statistics_.cached_bytes -= chunk.size;
  return &chunk;
}

// Joins a piece that is in no list with its free neighbours; the result is in no list either.
Chunk& Pool::join(Chunk& chunk) {
  const auto append = [this](Chunk& to, Chunk& next) {
    to.size += next.size;
    to.after = next.after;
    if (to.after != nullptr) to.after->before = &to;
    forget(next);
  };
  if (Chunk* after = chunk.after; after != nullptr && after->free) {
    shared_.remove(*after);
    append(chunk, *after);
  }
  Chunk* before = chunk.before;
  if (before == nullptr || !before->free) return chunk;
  shared_.remove(*before);
  append(*before, chunk);
  return *before;
}

void Pool::join_all() {
  for (const auto& slab : slabs_) {
    if (slab->own) continue;
    for (Chunk* chunk = slab->first; chunk != nullptr; chunk = chunk->after) {
      if (!chunk->free || chunk->after == nullptr || !chunk->after->free) continue;
      shared_.remove(*chunk);
      while (chunk->after != nullptr && chunk->after->free) chunk = &join(*chunk);
      shared_.insert(*chunk);
    }
  }
}

FreeLists& Pool::lists_of(const Chunk& chunk) { return chunk.slab->own ? own_ : shared_; }

Chunk& Pool::describe(const Chunk& chunk) {
  if (unused_ == nullptr) return chunks_.emplace_back(chunk);
  Chunk& reused = *std::exchange(unused_, unused_->next);
  reused = chunk;
  return reused;
}

void Pool::forget(Chunk& chunk) { chunk.next = std::exchange(unused_, &chunk); }

// Slabs grow with the pool, so that a small job takes little and a large one asks seldom: by an
// eighth to a quarter of what there is, and so much is taken in vain at the most.
uint64_t Pool::shared_slab_size() const {
  const uint64_t size =
      std::clamp(std::bit_ceil(statistics_.slab_bytes + 1) / 8, kLeastSlab, kMostShared);
  return config_.max_size > 0 ? std::min(size, round_up(config_.max_size)) : size;
}

// How many bytes of slabs there may be, if that can be had by giving back free ones, once `bytes`
// more are in use.
uint64_t Pool::slab_limit(uint64_t bytes) const {
  const uint64_t most = config_.max_size > 0 ? config_.max_size : device_bytes_ / 2;
  const uint64_t peak = std::max(statistics_.peak_live_bytes, statistics_.live_bytes + bytes);
  return std::min(most, std::max(kWorthKeeping, 2 * peak));
}

// Removes free slabs, those that have been free for longest first, until `keep` bytes are left.
Pool::Buffers Pool::remove_slabs(uint64_t keep) {
  Buffers removed;
  if (statistics_.slab_bytes + coming_ <= keep) return removed;
  wake();
  if (!config_.enable_defrag) join_all();
  std::vector<Slab*> free;
  for (const auto& slab : slabs_)
    if (slab->is_free()) free.push_back(slab.get());
  std::sort(free.begin(), free.end(),
            [](const Slab* a, const Slab* b) { return a->freed_last < b->freed_last; });
  removed.reserve(free.size());
  for (Slab* slab : free) {
    if (statistics_.slab_bytes + coming_ <= keep) break;
    lists_of(*slab->first).remove(*slab->first);
    forget(*slab->first);
    statistics_.slab_bytes -= slab->size;
    statistics_.cached_bytes -= slab->size;
    removed.push_back(std::move(slab->buffer));
  }
  std::erase_if(slabs_, [](const auto& slab) { return slab->buffer == nullptr; });
  return removed;
}

uint64_t Pool::trim() {
  Buffers removed;  // let go when the lock is open
  const Lock lock(mutex_);
  const uint64_t before = statistics_.slab_bytes;
  removed = remove_slabs(0);
  return before - statistics_.slab_bytes;
}

PoolStatistics Pool::statistics() const {
  const Lock lock(mutex_);
  return statistics_;
}

}  // namespace hologram::runtime
