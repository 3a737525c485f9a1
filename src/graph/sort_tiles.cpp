#include "graph/sort_tiles.hpp"

#include <vector>

namespace hologram::graph {

using program::Builder;
using program::Combine;
using program::Value;

namespace {

// A round's digits, two of which share a counter: the lower half of one and that eight further.
constexpr uint32_t kRoundDigits = 1 << kRoundBits, kHalf = kRoundDigits / 2, kHalfBits = 16;

}  // namespace

Value Sorted::plain(Value value) const {
  return !keys && element == DType::Bool && value.type() != DType::Bool ? value != 0 : value;
}
Value Sorted::key(Builder& builder, Value value) const {
  return keys ? value : key_of(builder, plain(value), element, descending);
}

uint32_t most_of_lane(const Sorted& sorted, DType index, uint32_t shared_bytes) {
  // Counters, a number a lane, and as much where lanes add up.
  const size_t fixed = kHalf * kTileLanes * sizeof(uint32_t) + 2 * kTileLanes * size_of(index);
  return graph::most_of_lane(size_of(key_dtype(sorted.element)) + size_of(index), fixed,
                             shared_bytes);
}

DType index_of(int64_t rows, int64_t length) {
  return Box::index_type(rows * (length + kDigits) + length + kLongestTile);
}

Value counter_of(const PieceOfGroup& piece, Value digit, Value number) {
  return (piece.row * kDigits + digit) * piece.pieces + number;
}
Value counter_of(const PieceOfGroup& piece, Value digit) {
  return counter_of(piece, digit, piece.piece);
}

DigitCounts::DigitCounts(Builder& builder)
    : b_(builder), counts_(builder.shared("digits", DType::U32, kDigits, true)) {
  b_.atomic(Combine::Exchange, counts_, b_.lane_id(0), b_.constant_bits(DType::U32, 0));
  b_.barrier();
}
void DigitCounts::add(Value digit) {
  b_.atomic(Combine::Add, counts_, digit, b_.constant_bits(DType::U32, 1));
}
Value DigitCounts::of_lane() {
  b_.barrier();
  return b_.atomic(Combine::Add, counts_, b_.lane_id(0), b_.constant_bits(DType::U32, 0));
}

SortedTile::SortedTile(Builder& builder, const Sorted& sorted, DType index, uint32_t of_lane)
    : TileOfGroup(builder, sorted.loaded(), index, of_lane),
      sorted_(sorted),
      order_(builder.shared("tile_order", index, of_lane * kTileLanes)),
      counters_(builder.shared("counters", DType::U32, kHalf * kTileLanes)),
      numbers_(builder.shared("numbers", index, kTileLanes)) {}

void SortedTile::begin() const {
  own([&](Value i) { b_.store(order_, i, i); });
  b_.barrier();
}

void SortedTile::sort(Value shift) const {
  const Value none = b_.constant_bits(DType::U32, 0);
  for (uint32_t d = 0; d < kHalf; d++) b_.store(counters_, lane() + d * kTileLanes, none);
  // An element, and where it goes among those of its digit.
  struct Item {
    Value element, counter, half, before;
  };
  std::vector<Item> items;
  own([&](Value i) {
    Item item;
    item.element = at(i);
    const Value digit = select(item.element < count(),
                               b_.cast(key(item.element) >> shift, DType::U32) & (kRoundDigits - 1),
                               kRoundDigits - 1);
    item.counter = b_.cast(digit & (kHalf - 1), index_) * kTileLanes + lane();
    item.half = select(digit < kHalf, none, kHalfBits);
    const Value counter = b_.load(counters_, item.counter);
    item.before = (counter >> item.half) & ((1 << kHalfBits) - 1);
    b_.store(counters_, item.counter, counter + (b_.constant_bits(DType::U32, 1) << item.half));
    items.push_back(item);
  });
  b_.barrier();

  std::vector<Value> counts;
  Value sum = none;
  for (uint32_t d = 0; d < kHalf; d++) {
    counts.push_back(b_.load(counters_, lane() * kHalf + d));
    sum = sum + counts.back();
  }
  const Value sums = b_.group_scan(Combine::Add, sum);
  Value start = sums - sum;
  for (uint32_t d = 0; d < kHalf; d++) {
    b_.store(counters_, lane() * kHalf + d, start);
    start = start + counts[d];
  }
  // Digits of the upper half come behind all of the lower.
  b_.if_(lane() == kTileLanes - 1,
         [&] { b_.store(numbers_, zero(), b_.cast(sums & ((1 << kHalfBits) - 1), index_)); });
  b_.barrier();
  const Value lower = b_.load(numbers_, zero());
  for (const Item& item : items) {
    const Value among = (b_.load(counters_, item.counter) >> item.half) & ((1 << kHalfBits) - 1);
    const Value behind = b_.cast(among + item.before, index_);
    b_.store(order_, select(item.half == 0, behind, behind + lower), item.element);
  }
  b_.barrier();
}

}  // namespace hologram::graph
