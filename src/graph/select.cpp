// The first k of a row without sorting it. Digit by digit, the most significant one first, the keys
// that begin like that of the k-th are counted, which finds the next digit of it; then the
// positions of the keys before it are written down, and of those equal to it as many as are still
// wanted.
#include "graph/context.hpp"
#include "graph/order_works.hpp"
#include "graph/scan.hpp"
#include "graph/sort_keys.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Value;
using program::Var;

struct SelectKey {
  DType element, index;
  bool descending;
  uint8_t shift;
  bool first;  // no digit is known yet
};

class Maker {
 public:
  Maker(const char* name, const SelectKey& key)
      : b_(name, {kBoxLanes}, key.index), key_(key), digits_(key_dtype(key.element)) {}

  // Counts are kept by row, then digit, then piece.
  Program count() {
    declare();
    const Buf counts = b_.buffer("counts", key_.index, Access::InOut);
    scalars();
    walk([&](Value, Value key) {
      const auto add = [&] {
        const Value digit = b_.cast(shifted(key, key_.shift) & (kDigits - 1), key_.index);
        const Value place = (row_ * kDigits + digit) * pieces_ + number_;
        b_.store(counts, place, b_.load(counts, place) + 1);
      };
      if (key_.first) return add();
      // Not by 64 bits at once, of which there may be none: what is above this digit is known.
      b_.if_(((key ^ threshold_) & above()) == bits(0), add);
    });
    return b_.finish();
  }

  // Lanes along rows: the digit at which the running sums reach what is wanted.
  Program choose() {
    const Buf sums = b_.buffer("sums", key_.index, Access::In);
    const Buf thresholds = b_.buffer("thresholds", digits_, Access::InOut);
    const Buf wanted = b_.buffer("wanted", key_.index, Access::InOut);
    const Value rows = b_.scalar("rows", key_.index), pieces = b_.scalar("pieces", key_.index);
    const Value k = b_.scalar("k", key_.index), row = b_.global_id(0);
    b_.if_(row < rows, [&] {
      const Value zero = b_.constant(key_.index, int64_t{0});
      const Value want = key_.first ? k : b_.load(wanted, row);
      const Var digit = b_.var(bits(0)), before = b_.var(zero);
      b_.for_(zero, b_.constant(key_.index, kDigits), 1, [&](Value d) {
        const Value sum = b_.load(sums, (row * kDigits + d + 1) * pieces - 1);
        b_.if_(sum < want, [&] {
          b_.set(digit, b_.get(digit) + bits(1));
          b_.set(before, sum);
        });
      });
      const Value known = key_.first ? bits(0) : b_.load(thresholds, row);
      b_.store(thresholds, row,
               known | (b_.get(digit) << b_.constant_bits(DType::U32, key_.shift)));
      b_.store(wanted, row, want - b_.get(before));
    });
    return b_.finish();
  }

  // How many of a piece come before the k-th, and how many are equal to it.
  Program tally() {
    declare();
    const Buf before = b_.buffer("before", key_.index, Access::Out);
    const Buf equal = b_.buffer("equal", key_.index, Access::Out);
    scalars();
    const auto place = [&] { return row_ * pieces_ + number_; };
    const Value zero = b_.constant(key_.index, int64_t{0});
    const Var less = b_.var(zero), same = b_.var(zero);
    walk(
        [&](Value, Value key) {
          b_.set(less, b_.get(less) + b_.cast(key < threshold_, key_.index));
          b_.set(same, b_.get(same) + b_.cast(key == threshold_, key_.index));
        },
        [&] {
          b_.store(before, place(), b_.get(less));
          b_.store(equal, place(), b_.get(same));
        });
    return b_.finish();
  }

  // Those before it, in order, and behind them those equal to it.
  Program write() {
    declare();
    const Buf wanted = b_.buffer("wanted", key_.index, Access::In);
    const Buf before = b_.buffer("before", key_.index, Access::In);
    const Buf equal = b_.buffer("equal", key_.index, Access::In);
    const Buf y = b_.buffer("y", DType::I64, Access::Out);
    scalars();
    const Value k = b_.scalar("k", key_.index), zero = b_.constant(key_.index, int64_t{0});
    const Var less = b_.var(zero), same = b_.var(zero);
    // The sums include the piece itself: it begins where the one before it ends.
    const auto start = [&](Buf sums) {
      const Value at = row_ * pieces_ + number_ - 1;
      return select(number_ > 0, b_.load(sums, select(number_ > 0, at, -1)), zero);
    };
    walk(
        [&](Value j, Value key) {
          b_.if_(key < threshold_, [&] {
            b_.store(y, row_ * k + b_.get(less), b_.cast(j, DType::I64));
            b_.set(less, b_.get(less) + 1);
          });
          b_.if_((key == threshold_) & (b_.get(same) < want_), [&] {
            b_.store(y, (row_ + 1) * k - want_ + b_.get(same), b_.cast(j, DType::I64));
            b_.set(same, b_.get(same) + 1);
          });
        },
        {},
        [&] {
          want_ = b_.load(wanted, row_);
          b_.set(less, start(before));
          b_.set(same, start(equal));
        });
    return b_.finish();
  }

 private:
  using Block = std::function<void()>;

  void declare() {
    x_ = b_.buffer("x", key_.element, Access::In);
    thresholds_ = b_.buffer("thresholds", digits_, Access::In);
  }
  void scalars() {
    rows_ = b_.scalar("rows", key_.index);
    pieces_ = b_.scalar("pieces", key_.index);
    length_ = b_.scalar("length", key_.index);
    piece_ = b_.scalar("piece", key_.index);
  }
  Value bits(uint64_t n) { return b_.constant_bits(digits_, n); }
  Value shifted(Value key, uint32_t by) { return key >> b_.constant_bits(DType::U32, by); }
  // The bits above this digit.
  Value above() {
    const uint32_t low = key_.shift + kDigitBits;
    const uint64_t all = digits_ == DType::U32 ? UINT32_MAX : UINT64_MAX;
    return bits(all >> low << low);
  }
  // A lane has a piece of a row: body(position in the row, key).
  void walk(const std::function<void(Value, Value)>& body, const Block& behind = {},
            const Block& ahead = {}) {
    const Value lane = b_.global_id(0);
    b_.if_(lane < rows_ * pieces_, [&] {
      row_ = lane / pieces_;
      number_ = lane % pieces_;
      threshold_ = b_.load(thresholds_, row_);
      if (ahead) ahead();
      const Value first = number_ * piece_;
      b_.for_(first, min(first + piece_, length_), 1, [&](Value j) {
        const Value element = b_.load(x_, row_ * length_ + j);
        body(j, key_of(b_, element, key_.element, key_.descending));
      });
      if (behind) behind();
    });
  }

  Builder b_;
  const SelectKey key_;
  const DType digits_;
  Buf x_{}, thresholds_{};
  Value rows_, pieces_, length_, piece_, row_, number_, threshold_, want_;
};

hal::OrderDesc desc_of(DType dtype, bool descending, int64_t rows, int64_t length, int64_t k) {
  return {.dtype = dtype,
          .what = hal::OrderDesc::What::First,
          .descending = descending,
          .rows = rows,
          .length = length,
          .k = k};
}

class FirstWork : public Work {
 public:
  explicit FirstWork(bool descending) : descending_(descending) {}
  std::string_view name() const override { return "topk"; }
  std::string done_by(Context& context, const Node& node) const override {
    return context.done_by(desc_of(node.inputs[0].node->dtype, descending_, node.shape[0],
                                   node.inputs[0].view().shape[1], node.shape[1]));
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node& x = *node.inputs[0].node;
    const int64_t rows = node.shape[0], k = node.shape[1], length = node.inputs[0].view().shape[1];
    const hal::OrderDesc desc = desc_of(x.dtype, descending_, rows, length, k);
    if (context.by_library(desc, {x.result.where, result.where})) return;
    const uint64_t x_bytes = static_cast<uint64_t>(length) * size_of(x.dtype);
    const uint64_t result_bytes = static_cast<uint64_t>(k) * size_of(node.dtype);
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const Pieces cut(std::min(kRowsAtOnce, rows - first), length);
      select(context, cut, x.dtype, k, part_of(x.result.where, first, cut.rows, x_bytes),
             part_of(result.where, first, cut.rows, result_bytes));
    }
  }

 private:
  void select(Context& context, const Pieces& cut, DType dtype, int64_t k, const hal::Binding& x,
              const hal::Binding& result) const {
    const int64_t rows = cut.rows;
    SelectKey key{dtype, Box::index_type(cut.most()), descending_, 0, false};
    const auto room = [&](int64_t n, DType type) {
      return context.allocate(static_cast<uint64_t>(n) * size_of(type));
    };
    const Storage thresholds = room(rows, key_dtype(dtype)), wanted = room(rows, key.index);
    const int64_t lanes = rows * cut.pieces;
    const std::vector<int64_t> sizes = {rows, cut.pieces, cut.length, cut.piece};
    {
      const Storage counts = room(cut.counts(), key.index), sums = room(cut.counts(), key.index);
      // All digits, also where elements differ in few: the others are not always 0.
      const auto digits = static_cast<uint32_t>(8 * size_of(key_dtype(dtype)) / kDigitBits);
      for (uint32_t d = digits; d-- > 0;) {
        key.shift = static_cast<uint8_t>(d * kDigitBits);
        key.first = d + 1 == digits;
        context.fill(counts, 0);
        launch_lanes(
            context,
            context.kept("select_count", key, [&] { return Maker("topk_count", key).count(); }),
            key.index, lanes, sizes, {x, thresholds.where, counts.where});
        scan(context, program::Combine::Add, key.index, {rows, kDigits * cut.pieces, 1}, counts,
             sums);
        launch_lanes(
            context,
            context.kept("select_choose", key, [&] { return Maker("topk_choose", key).choose(); }),
            key.index, rows, {rows, cut.pieces, k}, {sums.where, thresholds.where, wanted.where});
      }
      context.settle();
    }
    const Storage before = room(lanes, key.index), equal = room(lanes, key.index);
    const Storage before_sums = room(lanes, key.index), equal_sums = room(lanes, key.index);
    launch_lanes(
        context,
        context.kept("select_tally", key, [&] { return Maker("topk_tally", key).tally(); }),
        key.index, lanes, sizes, {x, thresholds.where, before.where, equal.where});
    scan(context, program::Combine::Add, key.index, {rows, cut.pieces, 1}, before, before_sums);
    scan(context, program::Combine::Add, key.index, {rows, cut.pieces, 1}, equal, equal_sums);
    std::vector<int64_t> and_k = sizes;
    and_k.push_back(k);
    launch_lanes(
        context,
        context.kept("select_write", key, [&] { return Maker("topk_write", key).write(); }),
        key.index, lanes, and_k,
        {x, thresholds.where, wanted.where, before_sums.where, equal_sums.where, result});
    context.settle();
  }

  const bool descending_;
};

}  // namespace

std::unique_ptr<const Work> first_work(bool descending) {
  return std::make_unique<FirstWork>(descending);
}
bool finds_first_in_order(Context& context, DType dtype, const Shape& rows, int64_t k) {
  return context.library_of(desc_of(dtype, false, rows[0], rows[1], k)) != nullptr;
}

}  // namespace hologram::graph
