// Rows in pieces, each of which a group of lanes goes through tile by tile: so many neighbours as
// it has room for in its memory.
#pragma once

#include <functional>
#include <vector>

#include "fusion/iteration_space.hpp"

namespace hologram::graph {

inline constexpr uint32_t kTileLanes = 256;

// Elements of a tile for each lane: an odd number, so that lanes that go through their own do not
// wait for each other's memory. As many as a group of the device has room for beside `fixed` bytes,
// if it takes `bytes` for each.
uint32_t most_of_lane(const DeviceInfo& device, size_t bytes, size_t fixed);
// As few as hold so many, but no more than `most`.
uint32_t some_of_lane(int64_t count, uint32_t most);
inline constexpr int64_t kLongestTile = 11 * kTileLanes;

struct Pieces {
  // At least one of each row, and as long as it takes to have no more of all.
  Pieces(int64_t rows, int64_t length, uint32_t of_lane, int64_t most_of_all_rows = INT64_MAX);
  const int64_t rows, length;
  const int64_t size;   // elements of one: some tiles
  const int64_t count;  // of a row
  int64_t groups() const { return rows * count; }
  int64_t lanes() const { return groups() * kTileLanes; }
  std::vector<int64_t> sizes() const { return {count, size, length}; }
};

// The same in a program, of which sizes() are the next scalars.
struct PieceOfGroup {
  PieceOfGroup(program::Builder& builder, DType index);
  program::Value pieces, size, length;
  program::Value row, piece;
  program::Value position, first;  // of its first element, in the row and in all rows
  program::Value elements;         // how many there are
};

// body(i, element) for the elements first + i, i < count, loaded `of_lane` at a time.
void for_each_loaded(program::Builder& builder, program::Buf from, program::Value first,
                     program::Value count, uint32_t of_lane,
                     const std::function<void(program::Value, program::Value)>& body);

// A tile in the group's memory, in the type in which programs compute; u32 for bool.
class TileOfGroup {
 public:
  TileOfGroup(program::Builder& builder, DType element, DType index, uint32_t of_lane);

  // Elements from `first` on; of those behind `count` nothing is known.
  void bring(program::Buf from, program::Value first, program::Value count);
  program::Value load(program::Value i) const { return b_.load(elements_, i); }
  void store(program::Value i, program::Value value) const { b_.store(elements_, i, value); }

  // body(i) for elements i < count, neighbours by neighbouring lanes.
  void each(program::Value count, const std::function<void(program::Value)>& body) const;
  // body(i) for the elements of this lane, which are neighbours, and come behind those of the lanes
  // before; also for those behind `count`.
  void own(const std::function<void(program::Value)>& body) const;

  program::Value lane() const { return lane_; }
  program::Value count() const { return count_; }

 protected:
  program::Value zero() const { return b_.constant(index_, int64_t{0}); }

  program::Builder& b_;
  const DType index_;
  const uint32_t of_lane_;

 private:
  const program::Shared elements_;
  const program::Value lane_;
  program::Value count_;
};

}  // namespace hologram::graph
