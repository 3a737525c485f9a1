#include "runtime/free_lists.hpp"

#include <bit>

namespace hologram::runtime {
namespace {

constexpr int kMostLooks = 32;  // pieces of a list that are compared

}  // namespace

size_t size_class(uint64_t size) {
  const uint64_t units = size / kBlockAlignment;
  if (units < 4) return units - 1;
  const auto doubling = static_cast<size_t>(std::bit_width(units)) - 3;
  return doubling * 4 + ((units >> doubling) & 3) + 3;
}

uint64_t round_to_class(uint64_t size) {
  const uint64_t units = size / kBlockAlignment;
  if (units < 8) return size;
  const uint64_t step = (std::bit_floor(units) >> 2) * kBlockAlignment;
  return (size + step - 1) & ~(step - 1);
}

void FreeLists::insert(Chunk& chunk) {
  const size_t c = size_class(chunk.size);
  chunk.free = true;
  chunk.previous = nullptr;
  chunk.next = heads_[c];
  if (chunk.next != nullptr) chunk.next->previous = &chunk;
  heads_[c] = &chunk;
  used_[c / 64] |= uint64_t{1} << (c % 64);
}

void FreeLists::remove(Chunk& chunk) {
  chunk.free = false;
  if (chunk.next != nullptr) chunk.next->previous = chunk.previous;
  if (chunk.previous != nullptr) {
    chunk.previous->next = chunk.next;
    return;
  }
  const size_t c = size_class(chunk.size);
  heads_[c] = chunk.next;
  if (chunk.next == nullptr) used_[c / 64] &= ~(uint64_t{1} << (c % 64));
}

Chunk* FreeLists::find(uint64_t size, PoolStrategy strategy, size_t last) const {
  const size_t c = next_used(size_class(size));
  if (c > last || c == kSizeClasses) return nullptr;
  return strategy == PoolStrategy::FirstFit ? heads_[c] : tightest(heads_[c], size);
}

Chunk* FreeLists::find_exact(uint64_t size) const {
  return tightest(heads_[size_class(size)], size);
}

Chunk* FreeLists::tightest(Chunk* list, uint64_t size) {
  Chunk* best = nullptr;
  for (int looks = 0; list != nullptr && looks < kMostLooks; list = list->next, looks++) {
    if (list->size == size) return list;
    if (list->size > size && (best == nullptr || list->size < best->size)) best = list;
  }
  return best;
}

size_t FreeLists::next_used(size_t from) const {
  for (size_t word = from / 64; word < used_.size(); word++) {
    const uint64_t bits =
        word == from / 64 ? used_[word] >> (from % 64) << (from % 64) : used_[word];
    if (bits != 0) return word * 64 + static_cast<size_t>(std::countr_zero(bits));
  }
  return kSizeClasses;
}

}  // namespace hologram::runtime
