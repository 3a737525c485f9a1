// The first k of a row without sorting it. Digit by digit, the most significant one first, the keys
// that begin like that of the k-th are counted, which finds the next digit of it; then the
// positions of the keys before it are written down, and of those equal to it as many as are still
// wanted. A group of lanes goes through a piece of a row, tile by tile. Rows that it has room for
// it sorts (algorithms/sort_rows.hpp).
#include "algorithms/order.hpp"
#include "algorithms/scan.hpp"
#include "algorithms/sort_rows.hpp"
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

constexpr int64_t kMostPieces = 2048;  // as many groups as keep a device busy
constexpr int64_t kShortForAGroup = 1 << 15, kManyRows = 256;
// A row that is sorted by fewer launches than it takes to find what is wanted of it.
constexpr int64_t kShortForSorting = 1 << 19;

struct SelectKey {
  DType element, index;
  bool descending;
  uint8_t of_lane;  // elements of a tile
  uint8_t shift;
  bool first;  // no digit is known yet

  Sorted sorted() const { return {element, descending, false}; }
};

class Maker {
 public:
  Maker(const char* name, const SelectKey& key)
      : b_(name, {kTileLanes}, key.index), key_(key), digits_(key_dtype(key.element)) {}

  Program count() {
    declare();
    const Buf counts = b_.buffer("counts", key_.index, Access::Out);
    const PieceOfGroup piece(b_, key_.index);
    const Value threshold = b_.load(thresholds_, piece.row);
    DigitCounts digits(b_);
    digits.begin();
    for_each_key(piece.first, piece.elements, [&](Value key) {
      const auto add = [&] {
        digits.add(digit_of(b_, key, b_.constant_bits(DType::U32, key_.shift)));
      };
      if (key_.first) return add();
      // Not by 64 bits at once, of which there may be none: what is above this digit is known.
      b_.if_(((key ^ threshold) & above()) == bits(0), add);
    });
    b_.store(counts, counter_of(piece, b_.lane_id(0)), b_.cast(digits.of_lane(), key_.index));
    return b_.finish();
  }

  // A group for each row, a lane for each digit: that at which the sums reach what is wanted.
  Program choose() {
    const Buf sums = b_.buffer("sums", key_.index, Access::In);
    const Buf thresholds = b_.buffer("thresholds", digits_, Access::InOut);
    const Buf wanted = b_.buffer("wanted", key_.index, Access::InOut);
    const Value pieces = b_.scalar("pieces", key_.index), k = b_.scalar("k", key_.index);
    const Value row = b_.group_id(0), digit = b_.lane_id(0);
    const Value want = key_.first ? k : b_.load(wanted, row);
    const Value count = b_.load(sums, (row * kDigits + digit + 1) * pieces - 1);
    const Value sum = b_.group_scan(Combine::Add, count), before = sum - count;
    b_.barrier();  // all have read what is wanted
    b_.if_((before < want) & (want <= sum), [&] {
      const Value known = key_.first ? bits(0) : b_.load(thresholds, row);
      const Value own = b_.cast(digit, digits_) << b_.constant_bits(DType::U32, key_.shift);
      b_.store(thresholds, row, known | own);
      b_.store(wanted, row, want - before);
    });
    return b_.finish();
  }

  // How many of a piece come before the k-th, and how many are equal to it.
  Program tally() {
    declare();
    const Buf counts = b_.buffer("counts", key_.index, Access::Out);
    const PieceOfGroup piece(b_, key_.index);
    const Value threshold = b_.load(thresholds_, piece.row);
    const Var less = b_.var(zero()), same = b_.var(zero());
    for_each_key(piece.first, piece.elements, [&](Value key) {
      b_.set(less, b_.get(less) + b_.cast(key < threshold, key_.index));
      b_.set(same, b_.get(same) + b_.cast(key == threshold, key_.index));
    });
    const Value before = b_.group_reduce(Combine::Add, b_.get(less));
    const Value equal = b_.group_reduce(Combine::Add, b_.get(same));
    b_.if_(b_.lane_id(0) == 0, [&] {
      b_.store(counts, counter(piece, kBefore), before);
      b_.store(counts, counter(piece, kEqual), equal);
    });
    return b_.finish();
  }

  // Those before it, in order, and behind them those equal to it.
  Program write() {
    declare();
    const Buf wanted = b_.buffer("wanted", key_.index, Access::In);
    const Buf sums = b_.buffer("sums", key_.index, Access::In);
    const Buf y = b_.buffer("y", DType::I64, Access::Out);
    const PieceOfGroup piece(b_, key_.index);
    const Value k = b_.scalar("k", key_.index);
    const Value threshold = b_.load(thresholds_, piece.row);
    const Value want = b_.load(wanted, piece.row), row = piece.row * k;
    // The sums include the piece itself: it begins where the one before it ends.
    const auto start = [&](int what) {
      const Value before = select(piece.piece > 0, counter(piece, what) - 1, -1);
      return select(piece.piece > 0, b_.load(sums, before), zero());
    };
    const Var less = b_.var(start(kBefore)), same = b_.var(start(kEqual));
    const Value has_less = b_.get(less) < b_.load(sums, counter(piece, kBefore));
    const Value has_same = b_.get(same) < min(b_.load(sums, counter(piece, kEqual)), want);
    b_.if_(b_.group_uniform(has_less | has_same), [&] {
      write_found(
          y, {piece.first, piece.position, piece.elements, row, k, threshold, want, less, same});
    });
    return b_.finish();
  }

  // All of that for a row by one group, which goes through it once a digit, and once more.
  Program rows() {
    x_ = b_.buffer("x", key_.element, Access::In);
    const Buf y = b_.buffer("y", DType::I64, Access::Out);
    const Value length = b_.scalar("length", key_.index), k = b_.scalar("k", key_.index);
    const Value row = b_.group_id(0), first = row * length, lane = b_.lane_id(0);
    const program::Shared chosen = b_.shared("chosen", key_.index, 2);
    DigitCounts digits(b_);
    const Var known = b_.var(bits(0)), above = b_.var(bits(0)), want = b_.var(k);
    const uint32_t all = 8 * static_cast<uint32_t>(size_of(digits_));
    b_.for_(b_.constant_bits(DType::U32, 0), b_.constant_bits(DType::U32, all), kDigitBits,
            [&](Value passed) {
              const Value shift = b_.constant_bits(DType::U32, all - kDigitBits) - passed;
              digits.begin();
              for_each_key(first, length, [&](Value key) {
                b_.if_(((key ^ b_.get(known)) & b_.get(above)) == bits(0),
                       [&] { digits.add(digit_of(b_, key, shift)); });
              });
              const Value count = b_.cast(digits.of_lane(), key_.index);
              const Value sum = b_.group_scan(Combine::Add, count), before = sum - count;
              b_.if_((before < b_.get(want)) & (b_.get(want) <= sum), [&] {
                b_.store(chosen, zero(), lane);
                b_.store(chosen, zero() + 1, before);
              });
              b_.barrier();
              const Value digit = b_.cast(b_.load(chosen, zero()), digits_);
              b_.set(known, b_.get(known) | (digit << shift));
              b_.set(above, b_.get(above) | (bits(kDigits - 1) << shift));
              b_.set(want, b_.get(want) - b_.load(chosen, zero() + 1));
            });
    const Var less = b_.var(zero()), same = b_.var(zero());
    write_found(y, {first, zero(), length, row * k, k, b_.get(known), b_.get(want), less, same});
    return b_.finish();
  }

 private:
  // Of some elements of a row: where they are in all rows and in their own, how many there are,
  // where what is found of the row goes, and how many of those before the k-th, or equal to it,
  // come before these elements.
  struct Part {
    Value first, position, elements, row, k, threshold, want;
    Var less, same;
  };
  // Those before the k-th, in order, and behind them as many as are wanted of those equal to it.
  void write_found(Buf y, const Part& f) {
    const program::Shared totals = b_.shared("totals", DType::U32, 1);
    TileOfGroup tile(b_, key_.element, key_.index, key_.of_lane);
    b_.for_(zero(), f.elements, key_.of_lane * kTileLanes, [&](Value begin) {
      b_.barrier();
      tile.bring(x_, f.first + begin, f.elements - begin);
      b_.barrier();
      // Both counts in a word: a tile has fewer than 65,536 elements.
      constexpr uint32_t kHalf = 16;
      const auto word = [&](Value at) {
        const Value key = key_.sorted().key(b_, tile.load(at));
        const Value both = select(key == f.threshold, b_.constant_bits(DType::U32, 1 << kHalf),
                                  b_.cast(key < f.threshold, DType::U32));
        return select(at < tile.count(), both, 0);
      };
      Value mine = b_.constant_bits(DType::U32, 0);
      tile.own([&](Value at) { mine = mine + word(at); });
      const Value sums = b_.group_scan(Combine::Add, mine);
      b_.if_(tile.lane() == kTileLanes - 1, [&] { b_.store(totals, zero(), sums); });
      const auto low = [&](Value w) { return b_.cast(w & ((1 << kHalf) - 1), key_.index); };
      const auto high = [&](Value w) {
        return b_.cast(w >> b_.constant_bits(DType::U32, kHalf), key_.index);
      };
      const Var at_less = b_.var(b_.get(f.less) + low(sums - mine));
      const Var at_same = b_.var(b_.get(f.same) + high(sums - mine));
      tile.own([&](Value at) {
        const Value w = word(at), position = f.position + (begin + at);
        b_.if_(low(w) != 0, [&] {
          b_.store(y, f.row + b_.get(at_less), b_.cast(position, DType::I64));
          b_.set(at_less, b_.get(at_less) + 1);
        });
        b_.if_((high(w) != 0) & (b_.get(at_same) < f.want), [&] {
          b_.store(y, f.row + (f.k - f.want) + b_.get(at_same), b_.cast(position, DType::I64));
          b_.set(at_same, b_.get(at_same) + 1);
        });
      });
      b_.barrier();
      const Value all = b_.load(totals, zero());
      b_.set(f.less, b_.get(f.less) + low(all));
      b_.set(f.same, b_.get(f.same) + high(all));
    });
  }

  void declare() {
    x_ = b_.buffer("x", key_.element, Access::In);
    thresholds_ = b_.buffer("thresholds", digits_, Access::In);
  }
  Value zero() { return b_.constant(key_.index, int64_t{0}); }
  Value bits(uint64_t n) { return b_.constant_bits(digits_, n); }
  // The bits above this digit.
  Value above() {
    const uint32_t low = key_.shift + kDigitBits;
    const uint64_t all = digits_ == DType::U32 ? UINT32_MAX : UINT64_MAX;
    return bits(all >> low << low);
  }
  // Of a piece of a row: how many come before the k-th, and how many are equal to it.
  static constexpr int kBefore = 0, kEqual = 1;
  static Value counter(const PieceOfGroup& piece, int what) {
    return (piece.row * 2 + what) * piece.pieces + piece.piece;
  }
  void for_each_key(Value first, Value elements, const std::function<void(Value)>& body) {
    for_each_loaded(b_, x_, first, elements, key_.of_lane,
                    [&](Value, Value element) { body(key_.sorted().key(b_, element)); });
  }

  Builder b_;
  const SelectKey key_;
  const DType digits_;
  Buf x_{}, thresholds_{};
};

hal::OrderDesc desc_of(DType dtype, bool descending, int64_t rows, int64_t length, int64_t k) {
  return {.dtype = dtype,
          .what = hal::OrderDesc::What::First,
          .descending = descending,
          .rows = rows,
          .length = length,
          .k = k};
}

SortKey first_key(DType dtype, bool descending) {
  return {dtype, DType::I32, descending, 0, Form::Elements, Form::Positions};
}

bool is_soon_sorted(Context& context, int64_t rows, int64_t length) {
  return rows == 1 && length <= kShortForSorting && !hints_of(context.device()).sequential_lanes;
}

class FirstOp : public OpaqueOp {
 public:
  explicit FirstOp(bool descending) : descending_(descending) {}
  std::string_view name() const override { return "topk"; }
  Candidates candidates(Context& context, const Node& node) const override {
    return context.candidates_of_bits(desc_of(node.inputs[0].node->dtype, descending_,
                                              node.shape[0], node.inputs[0].view().shape[1],
                                              node.shape[1]));
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node& x = *node.inputs[0].node;
    const int64_t rows = node.shape[0], k = node.shape[1], length = node.inputs[0].view().shape[1];
    const hal::OrderDesc desc = desc_of(x.dtype, descending_, rows, length, k);
    if (context.by_library(desc, {x.result.where, result.where})) return;
    const SortKey sorted = first_key(x.dtype, descending_);
    if (fits_a_group(context, sorted, length))
      return sort_by_groups(context, sorted, rows, length, k, x.result.where, result.where);
    if (is_soon_sorted(context, rows, length)) {
      const Storage order = context.allocate(static_cast<uint64_t>(length) * size_of(node.dtype));
      sort_by_digits(context, sorted, rows, length, x.result.where, order);
      return context.copy(result, {order.owner, part_of(order.where, 0, k, size_of(node.dtype))});
    }
    // One launch in place of many, where a group is soon done, or groups keep the device busy.
    if (length <= kShortForAGroup || rows >= kManyRows)
      return select_rows(context, rows, length, x.dtype, k, x.result.where, result.where);
    const uint64_t x_bytes = static_cast<uint64_t>(length) * size_of(x.dtype);
    const uint64_t result_bytes = static_cast<uint64_t>(k) * size_of(node.dtype);
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const int64_t some = std::min(kRowsAtOnce, rows - first);
      select(context, some, length, x.dtype, k, part_of(x.result.where, first, some, x_bytes),
             part_of(result.where, first, some, result_bytes));
    }
  }

 private:
  void select_rows(Context& context, int64_t rows, int64_t length, DType dtype, int64_t k,
                   const hal::Binding& x, const hal::Binding& result) const {
    const SelectKey key = select_key(context, rows, length, dtype);
    launch_lanes(context,
                 context.kept("select_rows", key, [&] { return Maker("topk_rows", key).rows(); }),
                 key.index, rows * kTileLanes, {length, k}, {x, result});
  }

  SelectKey select_key(Context& context, int64_t rows, int64_t length, DType dtype) const {
    SelectKey key{dtype, index_of(rows, length), descending_, 0, 0, false};
    key.of_lane = static_cast<uint8_t>(most_of_lane(context.device(), key.sorted(), key.index));
    return key;
  }

  void select(Context& context, int64_t rows, int64_t length, DType dtype, int64_t k,
              const hal::Binding& x, const hal::Binding& result) const {
    SelectKey key = select_key(context, rows, length, dtype);
    const Pieces cut(rows, length, key.of_lane, kMostPieces);
    const auto room = [&](int64_t n, DType type) {
      return context.allocate(static_cast<uint64_t>(n) * size_of(type));
    };
    const Storage thresholds = room(rows, key_dtype(dtype)), wanted = room(rows, key.index);
    {
      const int64_t all = cut.groups() * kDigits;
      const Storage counts = room(all, key.index), sums = room(all, key.index);
      // All digits, also where elements differ in few: the others are not always 0.
      const auto digits = static_cast<uint32_t>(8 * size_of(key_dtype(dtype)) / kDigitBits);
      for (uint32_t d = digits; d-- > 0;) {
        key.shift = static_cast<uint8_t>(d * kDigitBits);
        key.first = d + 1 == digits;
        launch_lanes(
            context,
            context.kept("select_count", key, [&] { return Maker("topk_count", key).count(); }),
            key.index, cut.lanes(), cut.sizes(), {x, thresholds.where, counts.where});
        scan(context, Combine::Add, key.index, {rows * kDigits, cut.count, 1}, counts, sums);
        launch_lanes(
            context,
            context.kept("select_choose", key, [&] { return Maker("topk_choose", key).choose(); }),
            key.index, rows * kTileLanes, {cut.count, k},
            {sums.where, thresholds.where, wanted.where});
      }
      context.settle();
    }
    const Storage counts = room(2 * cut.groups(), key.index),
                  sums = room(2 * cut.groups(), key.index);
    launch_lanes(
        context,
        context.kept("select_tally", key, [&] { return Maker("topk_tally", key).tally(); }),
        key.index, cut.lanes(), cut.sizes(), {x, thresholds.where, counts.where});
    scan(context, Combine::Add, key.index, {2 * rows, cut.count, 1}, counts, sums);
    std::vector<int64_t> and_k = cut.sizes();
    and_k.push_back(k);
    launch_lanes(
        context,
        context.kept("select_write", key, [&] { return Maker("topk_write", key).write(); }),
        key.index, cut.lanes(), and_k, {x, thresholds.where, wanted.where, sums.where, result});
    context.settle();
  }

  const bool descending_;
};

}  // namespace

std::unique_ptr<const OpaqueOp> first_op(bool descending) {
  return std::make_unique<FirstOp>(descending);
}
FirstK how_first(Context& context, DType dtype, const Shape& rows, int64_t k) {
  if (context.library_of(desc_of(dtype, false, rows[0], rows[1], k)) != nullptr)
    return FirstK::InOrder;
  const bool at_once = fits_a_group(context, first_key(dtype, false), rows[1]) ||
                       is_soon_sorted(context, rows[0], rows[1]);
  return at_once ? FirstK::AtOnce : FirstK::Found;
}

}  // namespace hologram::graph
