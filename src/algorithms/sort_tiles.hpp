// Rows in tiles: so many neighbours, which a group of lanes brings into its memory and puts in
// order there.
//
// A group counts how often each half of a digit, of four bits, comes along in what each of its
// lanes has, in a column of the lane's own; the running sums over halves, and lanes within them,
// say where each element goes. Done for the digits of a key from the least significant on, that
// sorts (radix sort, as Satish, Harris and Garland, "Designing efficient sorting algorithms for
// manycore GPUs", 2009).
#pragma once

#include <vector>

#include "algorithms/sort_keys.hpp"
#include "algorithms/tiles.hpp"
#include "hologram/builder.hpp"

namespace hologram::graph {

// What is sorted: elements, or the keys of such elements.
struct Sorted {
  DType element;
  bool descending, keys;

  DType loaded() const { return keys ? key_dtype(element) : element; }
  // Of what was loaded, or is in a group's memory: what it is to programs, and its key.
  program::Value plain(program::Value value) const;
  program::Value key(program::Builder& builder, program::Value value) const;
};

// Elements of a tile for each lane that a group has room for.
uint32_t most_of_lane(const DeviceInfo& device, const Sorted& sorted, DType index);

// For numbers in programs that count digits, whichever their tiles: counts are fewer than elements,
// but for rows that are shorter than a tile.
DType index_of(int64_t rows, int64_t length);

// Where a digit of a piece is counted: by row, then digit, then piece, so that running sums of each
// digit's say where the piece's share of it begins.
program::Value counter_of(const PieceOfGroup& piece, program::Value digit);
program::Value counter_of(const PieceOfGroup& piece, program::Value digit, program::Value number);

// The digit of a key from bit `shift` on, as u32.
program::Value digit_of(program::Builder& builder, program::Value key, program::Value shift);

// How often each digit comes along in a group.
class DigitCounts {
 public:
  explicit DigitCounts(program::Builder& builder);
  void begin();
  void add(program::Value digit);
  program::Value of_lane();  // of the digit that is the lane's number, when all are counted

 private:
  program::Builder& b_;
  const program::Shared counts_;
};

static_assert(kTileLanes == kDigits, "a lane a digit");

// A tile with an order.
class SortedTile : public TileOfGroup {
 public:
  SortedTile(program::Builder& builder, const Sorted& sorted, DType index, uint32_t of_lane);

  // What was brought is there for all lanes, and that in which it lies is its order.
  void begin() const;
  // In the order of the digit of the keys from bit `shift` on, else in that from before.
  void sort(program::Value shift) const;
  // Which element of the tile comes i-th, and its digit; behind all others those behind `count`.
  program::Value at(program::Value i) const;
  program::Value digit_at(program::Value i) const;
  // An element of the tile: its key, and as it is stored.
  program::Value key(program::Value i) const { return sorted_.key(b_, load(i)); }
  program::Value element(program::Value i) const { return sorted_.plain(load(i)); }
  // Room for a number of each lane while nothing is sorted.
  program::Shared numbers() const { return numbers_; }

 private:
  void sort_by(const std::vector<program::Value>& words, uint32_t bit) const;

  const Sorted sorted_;
  // Of the order: words of an element's number and, above that, its digit.
  const program::Shared order_, counters_, numbers_;
};

}  // namespace hologram::graph
