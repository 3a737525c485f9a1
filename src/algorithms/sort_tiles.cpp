#include "algorithms/sort_tiles.hpp"

#include <vector>

namespace hologram::graph {

using program::Builder;
using program::Combine;
using program::Value;

namespace {

constexpr uint32_t kNumberBits = 16;  // of an element in a word of the order
constexpr uint32_t kWordBits = kNumberBits + kDigitBits;
static_assert(kLongestTile <= 1 << kNumberBits);
// What is counted at a time: values of so many bits, two of which share a counter, the lower half
// of it one and the upper half that eight further.
constexpr uint32_t kBits = 4, kValues = 1 << kBits, kCounters = kValues / 2, kHalfBits = 16;
static_assert(2 * kBits == kDigitBits);

}  // namespace

Value Sorted::plain(Value value) const {
  return !keys && element == DType::Bool && value.type() != DType::Bool ? value != 0 : value;
}
Value Sorted::key(Builder& builder, Value value) const {
  return keys ? value : key_of(builder, plain(value), element, descending);
}

uint32_t most_of_lane(const DeviceInfo& device, const Sorted& sorted, DType index) {
  // Counters, a number a lane, and as much where lanes add up.
  const size_t fixed = kCounters * kTileLanes * sizeof(uint32_t) + 2 * kTileLanes * size_of(index);
  return most_of_lane(device, size_of(key_dtype(sorted.element)) + sizeof(uint32_t), fixed);
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

Value digit_of(Builder& builder, Value key, Value shift) {
  return builder.cast(key >> shift, DType::U32) & (kDigits - 1);
}

DigitCounts::DigitCounts(Builder& builder)
    : b_(builder), counts_(builder.shared("digits", DType::U32, kDigits, true)) {}
void DigitCounts::begin() {
  b_.atomic(Combine::Exchange, counts_, b_.lane_id(0), b_.constant_bits(DType::U32, 0));
  b_.barrier();
}
void DigitCounts::add(Value digit) {
  b_.atomic(Combine::Add, counts_, b_.cast(digit, b_.index_type()),
            b_.constant_bits(DType::U32, 1));
}
Value DigitCounts::of_lane() {
  b_.barrier();
  return b_.atomic(Combine::Add, counts_, b_.lane_id(0), b_.constant_bits(DType::U32, 0));
}

SortedTile::SortedTile(Builder& builder, const Sorted& sorted, DType index, uint32_t of_lane)
    : TileOfGroup(builder, sorted.loaded(), index, of_lane),
      sorted_(sorted),
      order_(builder.shared("tile_order", DType::U32, of_lane * kTileLanes)),
      counters_(builder.shared("counters", DType::U32, kCounters * kTileLanes)),
      numbers_(builder.shared("numbers", index, kTileLanes)) {}

Value SortedTile::at(Value i) const {
  return b_.cast(b_.load(order_, i) & ((1 << kNumberBits) - 1), index_);
}
Value SortedTile::digit_at(Value i) const {
  return b_.cast(b_.load(order_, i) >> b_.constant_bits(DType::U32, kNumberBits), index_);
}

void SortedTile::begin() const {
  own([&](Value i) { b_.store(order_, i, b_.cast(i, DType::U32)); });
  b_.barrier();
}

void SortedTile::sort(Value shift) const {
  std::vector<Value> words;
  own([&](Value i) {
    const Value number = at(i);
    const Value digit = select(number < count(), digit_of(b_, key(number), shift), kDigits - 1);
    words.push_back(b_.cast(number, DType::U32) |
                    (digit << b_.constant_bits(DType::U32, kNumberBits)));
  });
  sort_by(words, kNumberBits);
  words.clear();
  own([&](Value i) { words.push_back(b_.load(order_, i)); });
  sort_by(words, kNumberBits + kBits);
}

// Of words from a bit on.
void SortedTile::sort_by(const std::vector<Value>& words, uint32_t bit) const {
  const auto bits = [&](uint32_t n) { return b_.constant_bits(DType::U32, n); };
  const Value none = bits(0);
  const auto half_of = [&](Value counter, Value shift) {
    return (counter >> shift) & ((1 << kHalfBits) - 1);
  };
  for (uint32_t d = 0; d < kCounters; d++) b_.store(counters_, lane() + d * kTileLanes, none);
  const auto column_of = [&](Value word) {
    return b_.cast((word >> bits(bit)) & (kCounters - 1), index_) * kTileLanes + lane();
  };
  const auto shift_of = [&](Value word) {
    return ((word >> bits(bit)) & kCounters) * (kHalfBits / kCounters);
  };
  // With how many of its value come before a word in what the lane has: one number is all that a
  // lane has to remember.
  std::vector<Value> with_before;
  for (const Value word : words) {
    const Value at = column_of(word), shift = shift_of(word);
    const Value counter = b_.load(counters_, at);
    b_.store(counters_, at, counter + (bits(1) << shift));
    with_before.push_back(word | half_of(counter, shift) << bits(kWordBits));
  }
  b_.barrier();

  std::vector<Value> counts;
  Value sum = none;
  for (uint32_t d = 0; d < kCounters; d++) {
    counts.push_back(b_.load(counters_, lane() * kCounters + d));
    sum = sum + counts.back();
  }
  const Value sums = b_.group_scan(Combine::Add, sum);
  Value start = sums - sum;
  for (uint32_t d = 0; d < kCounters; d++) {
    b_.store(counters_, lane() * kCounters + d, start);
    start = start + counts[d];
  }
  // Values of the upper half come behind all of the lower.
  b_.if_(lane() == kTileLanes - 1,
         [&] { b_.store(numbers_, zero(), b_.cast(half_of(sums, none), index_)); });
  b_.barrier();
  const Value lower = b_.load(numbers_, zero());
  for (const Value word : with_before) {
    const Value shift = shift_of(word), before = word >> bits(kWordBits);
    const Value behind =
        b_.cast(half_of(b_.load(counters_, column_of(word)), shift) + before, index_);
    b_.store(order_, select(shift == 0, behind, behind + lower), word & ((1 << kWordBits) - 1));
  }
  b_.barrier();
}

}  // namespace hologram::graph
