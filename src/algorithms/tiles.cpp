#include "algorithms/tiles.hpp"

#include <algorithm>
#include <utility>

#include "program/ir.hpp"

namespace hologram::graph {

using program::Buf;
using program::Builder;
using program::Value;

namespace {

constexpr uint32_t kOfLane[] = {1, 3, 7, kLongestTile / kTileLanes};

DType kept(DType element) {
  const DType type = compute_type(element);
  return type == DType::Bool ? DType::U32 : type;
}

}  // namespace

uint32_t most_of_lane(const DeviceInfo& device, size_t bytes, size_t fixed) {
  // There is code for each of them, and drivers in software take seconds to compile a little.
  if (device.software) return kOfLane[0];
  const uint32_t room = std::min(device.max_shared_bytes, program::kMaxSharedBytes);
  uint32_t most = kOfLane[0];
  for (const uint32_t n : kOfLane)
    if (n * kTileLanes * bytes + fixed <= room) most = n;
  return most;
}

uint32_t some_of_lane(int64_t count, uint32_t most) {
  for (const uint32_t n : kOfLane)
    if (n >= most || count <= n * kTileLanes) return n;
  return most;
}

namespace {

int64_t size_of_piece(int64_t length, int64_t tile, int64_t most) {
  const int64_t tiles = (length + tile - 1) / tile;
  return tile * ((tiles - 1) / most + 1);
}

}  // namespace

Pieces::Pieces(int64_t rows, int64_t length, uint32_t of_lane, int64_t most_of_all_rows)
    : rows(rows),
      length(length),
      size(size_of_piece(length, of_lane * kTileLanes,
                         std::max<int64_t>(1, most_of_all_rows / std::max<int64_t>(1, rows)))),
      count((length + size - 1) / size) {}

PieceOfGroup::PieceOfGroup(Builder& builder, DType index)
    : pieces(builder.scalar("pieces", index)),
      size(builder.scalar("size", index)),
      length(builder.scalar("length", index)),
      row(builder.group_id(0) / pieces),
      piece(builder.group_id(0) % pieces),
      position(piece * size),
      first(row * length + position),
      elements(min(size, length - position)) {}

void for_each_loaded(Builder& builder, Buf from, Value first, Value count, uint32_t of_lane,
                     const std::function<void(Value, Value)>& body) {
  const Value lane = builder.lane_id(0);
  builder.for_(builder.constant(count.type(), int64_t{0}), count, of_lane * kTileLanes,
               [&](Value begin) {
                 std::vector<std::pair<Value, Value>> items;
                 for (uint32_t e = 0; e < of_lane; e++) {
                   const Value i = begin + (lane + e * kTileLanes);
                   items.emplace_back(i, builder.load(from, first + i));
                 }
                 for (const auto& [i, element] : items)
                   builder.if_(i < count, [&, at = i, x = element] { body(at, x); });
               });
}

TileOfGroup::TileOfGroup(Builder& builder, DType element, DType index, uint32_t of_lane)
    : b_(builder),
      index_(index),
      of_lane_(of_lane),
      elements_(builder.shared("tile", kept(element), of_lane * kTileLanes)),
      lane_(builder.lane_id(0)) {}

void TileOfGroup::bring(Buf from, Value first, Value count) {
  count_ = count;
  std::vector<Value> loaded;
  for (uint32_t e = 0; e < of_lane_; e++)
    loaded.push_back(b_.load(from, first + (lane_ + e * kTileLanes)));
  for (uint32_t e = 0; e < of_lane_; e++)
    store(lane_ + e * kTileLanes,
          loaded[e].type() == DType::Bool ? b_.cast(loaded[e], DType::U32) : loaded[e]);
}

void TileOfGroup::each(Value count, const std::function<void(Value)>& body) const {
  for (uint32_t e = 0; e < of_lane_; e++) {
    const Value i = lane_ + e * kTileLanes;
    b_.if_(i < count, [&] { body(i); });
  }
}

void TileOfGroup::own(const std::function<void(Value)>& body) const {
  for (uint32_t e = 0; e < of_lane_; e++) body(lane_ * of_lane_ + e);
}

}  // namespace hologram::graph
