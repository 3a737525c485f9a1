// Sorting by keys: unsigned numbers in the order of the elements. Short rows are sorted by counting
// the keys before each one, long ones digit by digit (radix sort, least significant digit first,
// which keeps equal keys in order): a lane counts the digits of a piece of the row, running sums
// over the counts say where each piece's share of a digit begins, and the lane puts its elements
// there.
#include <algorithm>
#include <limits>

#include "graph/box.hpp"
#include "graph/context.hpp"
#include "graph/order_works.hpp"
#include "graph/scan.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::apply;
using program::Buf;
using program::Builder;
using program::Op;
using program::Value;
using program::Var;

constexpr int64_t kShortRow = 256;
constexpr uint32_t kDigitBits = 8;
constexpr int64_t kDigits = 1 << kDigitBits;
constexpr int64_t kMostPieces = 4096, kShortestPiece = 256;

struct SortKey {
  DType element, index;
  bool descending;
  uint8_t shift;
};

DType key_dtype(DType element) {
  const DType t = compute_type(element);
  return t == DType::Bool || size_of(t) == 4 ? DType::U32 : DType::U64;
}

// Monotone: a key is less than another where its element comes before.
Value key_of(Builder& b, Value x, DType element, bool descending) {
  const DType type = x.type(), to = key_dtype(element);
  const auto bits = [&](uint64_t n) { return b.constant_bits(to, n); };
  const uint64_t sign = to == DType::U32 ? 0x80000000u : uint64_t{1} << 63;
  const uint64_t ones = to == DType::U32 ? 0xffffffffu : UINT64_MAX;
  Value key;
  if (is_float(type)) {
    // -0 equals 0. Negative numbers go backwards; NaN comes behind everything.
    const Value raw = b.bitcast(select(x == 0, b.constant(type, 0.0), x), to);
    key = select((raw & bits(sign)) != bits(0), raw ^ bits(ones), raw | bits(sign));
    key = select(apply(Op::IsNan, {x}), bits(ones), key);
  } else if (is_signed_integer(type)) {
    key = b.bitcast(x, to) ^ bits(sign);
  } else {
    key = b.cast(x, to);
  }
  return descending ? key ^ bits(ones) : key;
}

Program keys_program(const SortKey& k) {
  Builder b("sort_keys", {kBoxLanes}, k.index);
  const Buf x = b.buffer("x", k.element, Access::In);
  const Buf keys = b.buffer("keys", key_dtype(k.element), Access::Out);
  const Buf order = b.buffer("order", k.index, Access::Out);
  const Value n = b.scalar("n", k.index), length = b.scalar("length", k.index);
  const Value i = b.global_id(0);
  b.if_(i < n, [&] {
    b.store(keys, i, key_of(b, b.load(x, i), k.element, k.descending));
    b.store(order, i, i % length);
  });
  return b.finish();
}

// Lanes along the elements of all rows.
Program count_program(const SortKey& k) {
  Builder b("sort_short_rows", {kBoxLanes}, k.index);
  const Buf x = b.buffer("x", k.element, Access::In);
  const Buf order = b.buffer("order", DType::I64, Access::Out);
  const Value n = b.scalar("n", k.index), length = b.scalar("length", k.index);
  const Value e = b.global_id(0);
  b.if_(e < n, [&] {
    const Value position = e % length, row = e - position;
    const Value mine = key_of(b, b.load(x, e), k.element, k.descending);
    const Var before = b.var(b.constant(k.index, int64_t{0}));
    b.for_(b.constant(k.index, int64_t{0}), length, 1, [&](Value j) {
      const Value other = key_of(b, b.load(x, row + j), k.element, k.descending);
      const Value precedes = (other < mine) | ((other == mine) & (j < position));
      b.set(before, b.get(before) + b.cast(precedes, k.index));
    });
    b.store(order, row + b.get(before), b.cast(position, DType::I64));
  });
  return b.finish();
}

// What both passes over a digit share: a lane has a piece of a row. Counts are kept by row, then
// digit, then piece, so that running sums along a row say where each begins.
class DigitPass {
 public:
  DigitPass(const char* name, const SortKey& key) : b_(name, {kBoxLanes}, key.index), key_(key) {}

  Program count() {
    keys_ = b_.buffer("keys", key_dtype(key_.element), Access::In);
    const Buf counts = b_.buffer("counts", key_.index, Access::InOut);
    scalars();
    walk([&](Value at, Value place) {
      (void)at;
      b_.store(counts, place, b_.load(counts, place) + 1);
    });
    return b_.finish();
  }

  Program move() {
    keys_ = b_.buffer("keys", key_dtype(key_.element), Access::In);
    const Buf order = b_.buffer("order", key_.index, Access::In);
    const Buf starts = b_.buffer("starts", key_.index, Access::InOut);
    const Buf new_keys = b_.buffer("new_keys", key_dtype(key_.element), Access::Out);
    const Buf new_order = b_.buffer("new_order", key_.index, Access::Out);
    scalars();
    walk([&](Value at, Value place) {
      // The running sums include the piece itself, and go down to where it begins.
      const Value to = b_.load(starts, place);
      b_.store(starts, place, to + 1);
      b_.store(new_keys, row_ * length_ + to, b_.load(keys_, at));
      b_.store(new_order, row_ * length_ + to, b_.load(order, at));
    });
    return b_.finish();
  }

 private:
  void scalars() {
    rows_ = b_.scalar("rows", key_.index);
    pieces_ = b_.scalar("pieces", key_.index);
    length_ = b_.scalar("length", key_.index);
    piece_ = b_.scalar("piece", key_.index);
  }
  void walk(const std::function<void(Value, Value)>& body) {
    const Value lane = b_.global_id(0);
    b_.if_(lane < rows_ * pieces_, [&] {
      row_ = lane / pieces_;
      const Value piece = lane % pieces_, first = piece * piece_;
      b_.for_(first, min(first + piece_, length_), 1, [&](Value j) {
        const Value at = row_ * length_ + j;
        const Value shifted = b_.load(keys_, at) >> b_.constant_bits(DType::U32, key_.shift);
        const Value digit = b_.cast(shifted & (kDigits - 1), key_.index);
        body(at, (row_ * kDigits + digit) * pieces_ + piece);
      });
    });
  }

  Builder b_;
  const SortKey key_;
  Buf keys_{};
  Value rows_, pieces_, length_, piece_, row_;
};

// Where each count begins: the running sum without the count itself.
Program starts_program(DType index) {
  Builder b("sort_starts", {kBoxLanes}, index);
  const Buf sums = b.buffer("sums", index, Access::In);
  const Buf counts = b.buffer("counts", index, Access::InOut);
  const Value n = b.scalar("n", index), i = b.global_id(0);
  b.if_(i < n, [&] { b.store(counts, i, b.load(sums, i) - b.load(counts, i)); });
  return b.finish();
}

Program widen_program(DType index) {
  Builder b("sort_result", {kBoxLanes}, index);
  const Buf from = b.buffer("from", index, Access::In);
  const Buf to = b.buffer("to", DType::I64, Access::Out);
  const Value n = b.scalar("n", index), i = b.global_id(0);
  b.if_(i < n, [&] { b.store(to, i, b.cast(b.load(from, i), DType::I64)); });
  return b.finish();
}

class ArgsortWork : public Work {
 public:
  explicit ArgsortWork(bool descending) : descending_(descending) {}
  std::string_view name() const override { return "argsort"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Input& x = node.inputs[0];
    const int64_t rows = node.shape[0], length = node.shape[1], count = rows * length;
    if (length <= kShortRow) {
      const SortKey key = key_for(*x.node, count);
      return launch(context, "sort_short", key, count_program, count, {count, length},
                    {x.node->result.where, result.where});
    }
    const int64_t piece = std::max(kShortestPiece, (length + kMostPieces - 1) / kMostPieces);
    const int64_t pieces = (length + piece - 1) / piece, counts = rows * kDigits * pieces;
    SortKey key = key_for(*x.node, std::max(count, counts) + kDigits * piece);
    const DType index = key.index;
    const size_t key_bytes = size_of(key_dtype(key.element));
    const auto room = [&](int64_t n, size_t size) {
      return context.allocate(static_cast<uint64_t>(n) * size);
    };
    Storage keys = room(count, key_bytes), other_keys = room(count, key_bytes);
    Storage order = room(count, size_of(index)), other_order = room(count, size_of(index));
    const Storage tally = room(counts, size_of(index)), sums = room(counts, size_of(index));
    launch(context, "sort_keys", key, keys_program, count, {count, length},
           {x.node->result.where, keys.where, order.where});
    const uint32_t bits = static_cast<uint32_t>(
        8 * (key.element == DType::Bool ? 1 : std::max(key_bytes, size_t{1})));
    for (uint32_t shift = 0; shift < bits; shift += kDigitBits) {
      key.shift = static_cast<uint8_t>(shift);
      const std::vector<int64_t> sizes = {rows, pieces, length, piece};
      context.stream().fill(tally.where, 0);
      launch(context, "sort_count", key,
             [](const SortKey& k) { return DigitPass("sort_count", k).count(); }, rows * pieces,
             sizes, {keys.where, tally.where});
      scan(context, program::Combine::Add, index, {rows, kDigits * pieces, 1}, tally, sums);
      launch(context, "sort_starts", key, [](const SortKey& k) { return starts_program(k.index); },
             counts, {counts}, {sums.where, tally.where});
      launch(context, "sort_move", key,
             [](const SortKey& k) { return DigitPass("sort_move", k).move(); }, rows * pieces,
             sizes, {keys.where, order.where, tally.where, other_keys.where, other_order.where});
      std::swap(keys, other_keys);
      std::swap(order, other_order);
    }
    launch(context, "sort_result", key, [](const SortKey& k) { return widen_program(k.index); },
           count, {count}, {order.where, result.where});
    context.wait();
  }

 private:
  SortKey key_for(const Node& x, int64_t most) const {
    return {x.dtype, Box::index_type(most), descending_, 0};
  }

  template <class Make>
  static void launch(Context& context, const char* kind, const SortKey& key, Make make,
                     int64_t lanes, const std::vector<int64_t>& sizes,
                     const std::vector<hal::Binding>& bindings) {
    std::vector<uint64_t> scalars;
    scalars.reserve(sizes.size());
    for (const int64_t n : sizes) scalars.push_back(index_bits(key.index, n));
    const Grid grid = {(static_cast<uint64_t>(lanes) + kBoxLanes - 1) / kBoxLanes, 1, 1};
    context.launch(context.kept(kind, key, [&] { return make(key); }), grid, bindings, scalars);
  }

  const bool descending_;
};

struct SearchKey {
  DType element, index;
  bool behind;
};

Program search_program(const SearchKey& key) {
  Builder b("search_sorted", {kBoxLanes}, key.index);
  const Buf sorted = b.buffer("sorted", key.element, Access::In);
  const Buf values = b.buffer("values", key.element, Access::In);
  const Buf positions = b.buffer("positions", DType::I64, Access::Out);
  const Value n = b.scalar("n", key.index), length = b.scalar("length", key.index);
  const Value i = b.global_id(0);
  b.if_(i < n, [&] {
    const Value mine = key_of(b, b.load(values, i), key.element, false);
    const Value zero = b.constant(key.index, int64_t{0});
    const Var low = b.var(zero), high = b.var(length);
    // Halves at most 63 times.
    b.for_(zero, b.constant(key.index, int64_t{63}), 1, [&](Value) {
      b.if_(b.get(low) >= b.get(high), [&] { b.break_(); });
      const Value middle = b.get(low) + (b.get(high) - b.get(low)) / 2;
      const Value other = key_of(b, b.load(sorted, middle), key.element, false);
      b.if_(
          key.behind ? other <= mine : other < mine, [&] { b.set(low, middle + 1); },
          [&] { b.set(high, middle); });
    });
    b.store(positions, i, b.cast(b.get(low), DType::I64));
  });
  return b.finish();
}

class SearchWork : public Work {
 public:
  explicit SearchWork(bool behind) : behind_(behind) {}
  std::string_view name() const override { return "searchsorted"; }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node &sorted = *node.inputs[0].node, &values = *node.inputs[1].node;
    const int64_t n = element_count(node.shape), length = element_count(sorted.shape);
    SearchKey key{sorted.dtype, Box::index_type(std::max(n, length)), behind_};
    const uint64_t scalars[] = {index_bits(key.index, n), index_bits(key.index, length)};
    const hal::Binding bindings[] = {sorted.result.where, values.result.where, result.where};
    const Grid grid = {(static_cast<uint64_t>(n) + kBoxLanes - 1) / kBoxLanes, 1, 1};
    context.launch(context.kept("search", key, [&] { return search_program(key); }), grid, bindings,
                   scalars);
  }

 private:
  const bool behind_;
};

}  // namespace

std::unique_ptr<const Work> argsort_work(bool descending) {
  return std::make_unique<ArgsortWork>(descending);
}
std::unique_ptr<const Work> search_work(bool behind) {
  return std::make_unique<SearchWork>(behind);
}

}  // namespace hologram::graph
