// Sorting by keys, as a group of lanes does it in its memory: some short rows by counting the keys
// before each one, a longer one by its digits. Rows that do not fit there are sorted digit by digit
// (radix sort, least significant digit first, which keeps equal keys in order): a group counts the
// digits of a tile of the row, running sums over the counts say where each tile's share of a digit
// begins, and a group puts its tile in order and its elements there.
#include "algorithms/sort_rows.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/scan.hpp"
#include "engine/context.hpp"
#include "fusion/layout.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;

// Longer rows have a group each. A processor, which goes through the lanes of a group one after the
// other, takes as long for one of them as for a whole row.
int64_t most_of_short_rows(Context& context) {
  return hints_of(context.device()).sequential_lanes ? kTileLanes : kTileLanes * 3 / 4;
}

// A lane an element; the first k of each row.
Program short_program(const SortKey& k) {
  Builder b("sort_short_rows", {kTileLanes}, k.index);
  const Buf x = b.buffer("x", k.element, Access::In);
  const bool values = k.to == Form::Elements;
  const Buf y = b.buffer("y", values ? k.element : DType::I64, Access::Out);
  const Value n = b.scalar("n", k.index), length = b.scalar("length", k.index);
  const Value of_group = b.scalar("of_group", k.index), few = b.scalar("k", k.index);
  const program::Shared keys = b.shared("keys", key_dtype(k.element), kTileLanes);
  const Value lane = b.lane_id(0), e = b.group_id(0) * of_group + lane;
  const Value element = b.load(x, e), mine = k.sorted().key(b, element);
  b.store(keys, lane, mine);
  b.barrier();
  b.if_((lane < of_group) & (e < n), [&] {
    const Value position = e % length, row = lane - position;
    const Var before = b.var(b.constant(k.index, int64_t{0}));
    b.for_(b.constant(k.index, int64_t{0}), length, 1, [&](Value j) {
      const Value other = b.load(keys, row + j);
      const Value precedes = (other < mine) | ((other == mine) & (j < position));
      b.set(before, b.get(before) + b.cast(precedes, k.index));
    });
    b.if_(b.get(before) < few, [&] {
      b.store(y, e / length * few + b.get(before), values ? element : b.cast(position, DType::I64));
    });
  });
  return b.finish();
}

// A group for each row; the first k of it.
Program row_program(const SortKey& k) {
  Builder b("sort_rows", {kTileLanes}, k.index);
  const Buf x = b.buffer("x", k.element, Access::In);
  const bool values = k.to == Form::Elements;
  const Buf y = b.buffer("y", values ? k.element : DType::I64, Access::Out);
  const Value length = b.scalar("length", k.index), few = b.scalar("k", k.index);
  const Value row = b.group_id(0);
  SortedTile tile(b, k.sorted(), k.index, k.of_lane);
  tile.bring(x, row * length, length);
  tile.begin();
  const auto [first, count] = digits_of(k.element);
  b.for_(b.constant_bits(DType::U32, first * kDigitBits),
         b.constant_bits(DType::U32, (first + count) * kDigitBits), kDigitBits,
         [&](Value shift) { tile.sort(shift); });
  tile.each(few, [&](Value i) {
    const Value at = tile.at(i);
    b.store(y, row * few + i, values ? tile.element(at) : b.cast(at, DType::I64));
  });
  return b.finish();
}

// What both passes over a digit share: a group has a tile of a row.
class DigitPass {
 public:
  DigitPass(const char* name, const SortKey& key)
      : b_(name, {kTileLanes}, key.index), key_(key), sorted_(key.sorted()) {}

  Program count() {
    const Buf source = b_.buffer("x", sorted_.loaded(), Access::In);
    const Buf counts = b_.buffer("counts", key_.index, Access::Out);
    const PieceOfGroup tile(b_, key_.index);
    const Value shift = b_.scalar("shift", DType::U32);
    DigitCounts digits(b_);
    digits.begin();
    for_each_loaded(b_, source, tile.first, tile.elements, key_.of_lane, [&](Value, Value element) {
      digits.add(digit_of(b_, sorted_.key(b_, element), shift));
    });
    b_.store(counts, counter_of(tile, b_.lane_id(0)), b_.cast(digits.of_lane(), key_.index));
    return b_.finish();
  }

  Program move() {
    const bool ordered = key_.from == Form::Keys;
    const Buf source = b_.buffer("x", sorted_.loaded(), Access::In);
    const Buf order = ordered ? b_.buffer("order", key_.index, Access::In) : Buf{};
    const Buf counts = b_.buffer("counts", key_.index, Access::In);
    const Buf sums = b_.buffer("sums", key_.index, Access::In);
    Buf elements{}, keys{}, positions{};
    if (key_.to == Form::Elements) elements = b_.buffer("y", key_.element, Access::Out);
    if (key_.to == Form::Keys) {
      keys = b_.buffer("new_keys", key_dtype(key_.element), Access::Out);
      positions = b_.buffer("new_order", key_.index, Access::Out);
    }
    if (key_.to == Form::Positions) positions = b_.buffer("y", DType::I64, Access::Out);
    const PieceOfGroup place(b_, key_.index);
    const Value shift = b_.scalar("shift", DType::U32);
    SortedTile tile(b_, sorted_, key_.index, key_.of_lane);
    tile.bring(source, place.first, place.elements);
    tile.begin();
    tile.sort(shift);
    // Where the tile's share of a digit begins in the row, less where it does in the tile. The sums
    // are of one digit each, and include the tile itself.
    const Value digit_of_lane = tile.lane(), counter = counter_of(place, digit_of_lane);
    const Value total = b_.load(sums, counter_of(place, digit_of_lane, place.pieces - 1));
    const Value before = b_.group_scan(Combine::Add, total - b_.load(counts, counter)) - total;
    b_.store(tile.numbers(), digit_of_lane, before + b_.load(sums, counter));
    b_.barrier();
    const Value row = place.row * place.length;
    tile.each(place.elements, [&](Value i) {
      const Value at = tile.at(i);
      const Value to = row + (b_.load(tile.numbers(), tile.digit_at(i)) + i);
      if (key_.to == Form::Elements) return b_.store(elements, to, tile.element(at));
      const Value was = ordered ? b_.load(order, place.first + at) : place.position + at;
      if (key_.to == Form::Positions) return b_.store(positions, to, b_.cast(was, DType::I64));
      b_.store(keys, to, tile.key(at));
      b_.store(positions, to, was);
    });
    return b_.finish();
  }

 private:
  Builder b_;
  const SortKey key_;
  const Sorted sorted_;
};

// Rows that are sorted at once.
class DigitSort {
 public:
  DigitSort(Context& context, const SortKey& key, int64_t rows, int64_t length)
      : context_(context),
        key_(key),
        cut_(rows, length, key.of_lane),
        counts_(room(cut_.groups() * kDigits, key.index)),
        sums_(room(cut_.groups() * kDigits, key.index)) {}

  // To and fro between the result and as much memory again, so that it ends in the result.
  void elements(hal::Binding from, const Storage& result) const {
    const auto [first, count] = digits_of(key_.element);
    const Storage other = count == 1 ? Storage() : context_.allocate(result.where.size);
    for (uint32_t left = count; left-- > 0;) {
      const hal::Binding to = left % 2 == 0 ? result.where : other.where;
      pass(key_, first + count - 1 - left, {from}, {to});
      from = to;
    }
  }

  // To and fro between two pairs of keys and positions, of which the second takes what it can of
  // the memory of the result: the last pass, which writes that, reads the first.
  void positions(const hal::Binding& x, const Storage& result) const {
    const auto [first, count] = digits_of(key_.element);
    const int64_t n = cut_.rows * cut_.length;
    const DType key_type = key_dtype(key_.element);
    Pair pairs[2];
    if (count > 1) pairs[0] = {room(n, key_type), room(n, key_.index)};
    if (count > 2) {
      const uint64_t key_bytes = pairs[0].keys.where.size;
      const uint64_t order_bytes = pairs[0].order.where.size;
      pairs[1].order = {result.owner, {result.where.buffer, result.where.offset, order_bytes}};
      const uint64_t behind = result.where.offset + order_bytes;
      const bool fits = order_bytes + key_bytes <= result.where.size &&
                        behind % context_.device().binding_alignment == 0;
      pairs[1].keys = fits ? Storage{result.owner, {result.where.buffer, behind, key_bytes}}
                           : context_.allocate(key_bytes);
    }
    for (uint32_t left = count; left-- > 0;) {
      const bool begins = left + 1 == count, ends = left == 0;
      SortKey now = key_;
      now.from = begins ? Form::Elements : Form::Keys;
      now.to = ends ? Form::Positions : Form::Keys;
      pass(now, first + count - 1 - left, begins ? std::vector{x} : pairs[left % 2].both(),
           ends ? std::vector{result.where} : pairs[(left + 1) % 2].both());
    }
  }

 private:
  struct Pair {
    Storage keys, order;
    std::vector<hal::Binding> both() const { return {keys.where, order.where}; }
  };

  Storage room(int64_t count, DType type) const {
    return context_.allocate(static_cast<uint64_t>(count) * size_of(type));
  }

  void pass(const SortKey& now, uint32_t digit, const std::vector<hal::Binding>& from,
            const std::vector<hal::Binding>& to) const {
    std::vector<int64_t> sizes = cut_.sizes();
    sizes.push_back(digit * kDigitBits);
    SortKey counted = now;  // the same for every kind of result
    counted.to = Form::Keys;
    launch_lanes(context_,
                 context_.kept("sort_count", counted,
                               [&] { return DigitPass("sort_count", counted).count(); }),
                 now.index, cut_.lanes(), sizes, {from[0], counts_.where});
    scan(context_, Combine::Add, now.index, {cut_.rows * kDigits, cut_.count, 1}, counts_, sums_);
    std::vector<hal::Binding> bindings = from;
    for (const Storage* const s : {&counts_, &sums_}) bindings.push_back(s->where);
    bindings.insert(bindings.end(), to.begin(), to.end());
    launch_lanes(
        context_,
        context_.kept("sort_move", now, [&] { return DigitPass("sort_move", now).move(); }),
        now.index, cut_.lanes(), sizes, bindings);
  }

  Context& context_;
  const SortKey key_;
  const Pieces cut_;
  const Storage counts_, sums_;
};

uint32_t most_of_lane(Context& context, const SortKey& key) {
  return most_of_lane(context.device(), key.sorted(), key.index);
}

}  // namespace

bool fits_a_group(Context& context, const SortKey& key, int64_t length) {
  return length <= most_of_lane(context, key) * kTileLanes;
}

void sort_by_groups(Context& context, SortKey key, int64_t rows, int64_t length, int64_t k,
                    const hal::Binding& x, const hal::Binding& result) {
  key.index = Box::index_type(rows * length);
  if (length <= most_of_short_rows(context)) {
    const int64_t rows_of_group = kTileLanes / length;
    const int64_t groups = (rows + rows_of_group - 1) / rows_of_group;
    return launch_lanes(
        context, context.kept("sort_short", key, [&] { return short_program(key); }), key.index,
        groups * kTileLanes, {rows * length, length, rows_of_group * length, k}, {x, result});
  }
  key.of_lane = static_cast<uint8_t>(some_of_lane(length, most_of_lane(context, key)));
  launch_lanes(context, context.kept("sort_rows", key, [&] { return row_program(key); }), key.index,
               rows * kTileLanes, {length, k}, {x, result});
}

void sort_by_digits(Context& context, SortKey key, int64_t rows, int64_t length,
                    const hal::Binding& x, const Storage& result) {
  const bool elements = key.to == Form::Elements;
  const uint64_t x_bytes = static_cast<uint64_t>(length) * size_of(key.element);
  const uint64_t result_bytes =
      static_cast<uint64_t>(length) * size_of(elements ? key.element : DType::I64);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t some = std::min(kRowsAtOnce, rows - first);
    key.index = index_of(some, length);
    key.of_lane = static_cast<uint8_t>(most_of_lane(context, key));
    const DigitSort sort(context, key, some, length);
    const Storage to{result.owner, part_of(result.where, first, some, result_bytes)};
    const hal::Binding from = part_of(x, first, some, x_bytes);
    if (elements) sort.elements(from, to);
    else sort.positions(from, to);
    context.settle();
  }
}

}  // namespace hologram::graph
