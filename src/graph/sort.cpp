// Sorting by keys. Short rows are sorted by counting the keys before each one, long ones digit by
// digit (radix sort, least significant digit first, which keeps equal keys in order): a lane counts
// the digits of a piece of the row, running sums over the counts say where each piece's share of a
// digit begins, and the lane puts its elements there.
#include <algorithm>
#include <bit>

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

constexpr int64_t kShortRow = 256;

// What a pass reads or writes for each element: the element itself, its key and where it was in the
// row, or, at the end, only that.
enum class Form : uint8_t { Elements, Keys, Positions };

struct SortKey {
  DType element, index;
  bool descending;
  uint8_t shift;
  Form from, to;
};

// Lanes along the elements of all rows.
Program short_program(const SortKey& k) {
  Builder b("sort_short_rows", {kBoxLanes}, k.index);
  const Buf x = b.buffer("x", k.element, Access::In);
  const bool values = k.to == Form::Elements;
  const Buf y = b.buffer("y", values ? k.element : DType::I64, Access::Out);
  const Value n = b.scalar("n", k.index), length = b.scalar("length", k.index);
  const Value e = b.global_id(0);
  b.if_(e < n, [&] {
    const Value position = e % length, row = e - position, element = b.load(x, e);
    const Value mine = key_of(b, element, k.element, k.descending);
    const Var before = b.var(b.constant(k.index, int64_t{0}));
    b.for_(b.constant(k.index, int64_t{0}), length, 1, [&](Value j) {
      const Value other = key_of(b, b.load(x, row + j), k.element, k.descending);
      const Value precedes = (other < mine) | ((other == mine) & (j < position));
      b.set(before, b.get(before) + b.cast(precedes, k.index));
    });
    b.store(y, row + b.get(before), values ? element : b.cast(position, DType::I64));
  });
  return b.finish();
}

// What both passes over a digit share: a lane has a piece of a row. Counts are kept by row, then
// digit, then piece, so that running sums along a row say where each begins.
class DigitPass {
 public:
  DigitPass(const char* name, const SortKey& key) : b_(name, {kBoxLanes}, key.index), key_(key) {}

  Program count() {
    declare_source();
    const Buf counts = b_.buffer("counts", key_.index, Access::InOut);
    scalars();
    walk([&](Value at, Value, Value place) {
      (void)at;
      b_.store(counts, place, b_.load(counts, place) + 1);
    });
    return b_.finish();
  }

  Program move() {
    const bool ordered = key_.from == Form::Keys;
    declare_source();
    const Buf order = ordered ? b_.buffer("order", key_.index, Access::In) : Buf{};
    const Buf starts = b_.buffer("starts", key_.index, Access::InOut);
    Buf elements{}, keys{}, positions{};
    if (key_.to == Form::Elements) elements = b_.buffer("y", key_.element, Access::Out);
    if (key_.to == Form::Keys) {
      keys = b_.buffer("new_keys", key_dtype(key_.element), Access::Out);
      positions = b_.buffer("new_order", key_.index, Access::Out);
    }
    if (key_.to == Form::Positions) positions = b_.buffer("y", DType::I64, Access::Out);
    scalars();
    walk([&](Value at, Value position, Value place) {
      // The running sums include the piece itself, and go down to where it begins.
      const Value start = b_.load(starts, place), to = row_ * length_ + start;
      b_.store(starts, place, start + 1);
      if (key_.to == Form::Elements) return b_.store(elements, to, b_.load(source_, at));
      const Value was = ordered ? b_.load(order, at) : position;
      if (key_.to == Form::Positions) return b_.store(positions, to, b_.cast(was, DType::I64));
      b_.store(keys, to, key_at(at));
      b_.store(positions, to, was);
    });
    return b_.finish();
  }

 private:
  void declare_source() {
    source_ = key_.from == Form::Keys ? b_.buffer("keys", key_dtype(key_.element), Access::In)
                                      : b_.buffer("x", key_.element, Access::In);
  }
  void scalars() {
    rows_ = b_.scalar("rows", key_.index);
    pieces_ = b_.scalar("pieces", key_.index);
    length_ = b_.scalar("length", key_.index);
    piece_ = b_.scalar("piece", key_.index);
  }
  Value key_at(Value at) {
    const Value loaded = b_.load(source_, at);
    return key_.from == Form::Keys ? loaded : key_of(b_, loaded, key_.element, key_.descending);
  }
  // body(where the element is, its position in the row, where its digit is counted)
  void walk(const std::function<void(Value, Value, Value)>& body) {
    const Value lane = b_.global_id(0);
    b_.if_(lane < rows_ * pieces_, [&] {
      row_ = lane / pieces_;
      const Value piece = lane % pieces_, first = piece * piece_;
      b_.for_(first, min(first + piece_, length_), 1, [&](Value j) {
        const Value at = row_ * length_ + j;
        const Value shifted = key_at(at) >> b_.constant_bits(DType::U32, key_.shift);
        const Value digit = b_.cast(shifted & (kDigits - 1), key_.index);
        body(at, j, (row_ * kDigits + digit) * pieces_ + piece);
      });
    });
  }

  Builder b_;
  const SortKey key_;
  Buf source_{};
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

// Of elements or of positions: what is sorted is the result.
class SortWork : public Work {
 public:
  SortWork(bool descending, Form result) : descending_(descending), form_(result) {}
  std::string_view name() const override { return form_ == Form::Elements ? "sort" : "argsort"; }
  std::string done_by(Context& context, const Node& node) const override {
    return context.done_by(desc_of(node));
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node& x = *node.inputs[0].node;
    const int64_t rows = node.shape[0], length = node.shape[1];
    if (context.by_library(desc_of(node), {x.result.where, result.where})) return;
    const SortKey key{x.dtype, Box::index_type(rows * length), descending_, 0, Form::Elements,
                      form_};
    sort_rows(context, key, rows, length, x.result.where, result);
  }

  static void sort_rows(Context& context, SortKey key, int64_t rows, int64_t length,
                        const hal::Binding& x, const Storage& result) {
    if (length <= kShortRow)
      return launch_lanes(context,
                          context.kept("sort_short", key, [&] { return short_program(key); }),
                          key.index, rows * length, {rows * length, length}, {x, result.where});
    const bool elements = key.to == Form::Elements;
    const uint64_t x_bytes = static_cast<uint64_t>(length) * size_of(key.element);
    const uint64_t result_bytes =
        static_cast<uint64_t>(length) * size_of(elements ? key.element : DType::I64);
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const Pieces cut(std::min(kRowsAtOnce, rows - first), length);
      key.index = Box::index_type(cut.most());
      const Storage to{result.owner, part_of(result.where, first, cut.rows, result_bytes)};
      const hal::Binding from = part_of(x, first, cut.rows, x_bytes);
      const Sort sort{context, cut, key, room(context, cut.counts(), key.index),
                      room(context, cut.counts(), key.index)};
      if (elements) sort.elements(from, to);
      else sort.positions(from, to);
      context.settle();
    }
  }

 private:
  hal::OrderDesc desc_of(const Node& node) const {
    using What = hal::OrderDesc::What;
    return {.dtype = node.inputs[0].node->dtype,
            .what = form_ == Form::Elements ? What::Elements : What::Positions,
            .descending = descending_,
            .rows = node.shape[0],
            .length = node.shape[1]};
  }

  static Storage room(Context& context, int64_t count, DType type) {
    return context.allocate(static_cast<uint64_t>(count) * size_of(type));
  }

  // Of rows that are sorted at once.
  struct Sort {
    Context& context;
    const Pieces& cut;
    const SortKey& key;
    Storage tally, sums;

    // To and fro between the result and as much memory again, so that it ends in the result.
    void elements(hal::Binding from, const Storage& result) const {
      const uint32_t digits = digits_of(key.element);
      const Storage other = digits == 1 ? Storage() : context.allocate(result.where.size);
      for (uint32_t d = 0; d < digits; d++) {
        const hal::Binding to = (digits - d) % 2 == 1 ? result.where : other.where;
        pass(key, d, {from}, {to});
        from = to;
      }
    }

    struct Pair {
      Storage keys, order;
      std::vector<hal::Binding> both() const { return {keys.where, order.where}; }
    };

    // To and fro between two pairs of keys and positions, of which the second takes what it can of
    // the memory of the result: the last pass, which writes that, reads the first. Digits are even
    // in number, or there is one.
    void positions(const hal::Binding& x, const Storage& result) const {
      const uint32_t digits = digits_of(key.element);
      const int64_t count = cut.rows * cut.length;
      const DType key_type = key_dtype(key.element);
      Pair pairs[2];
      if (digits > 1) {
        pairs[0] = {room(context, count, key_type), room(context, count, key.index)};
        const uint64_t key_bytes = pairs[0].keys.where.size;
        const uint64_t order_bytes = pairs[0].order.where.size;
        pairs[1].order = {result.owner, {result.where.buffer, result.where.offset, order_bytes}};
        const uint64_t behind = result.where.offset + order_bytes;
        const bool fits = order_bytes + key_bytes <= result.where.size &&
                          behind % context.device().binding_alignment == 0;
        pairs[1].keys = fits ? Storage{result.owner, {result.where.buffer, behind, key_bytes}}
                             : context.allocate(key_bytes);
      }
      for (uint32_t d = 0; d < digits; d++) {
        SortKey now = key;
        now.from = d == 0 ? Form::Elements : Form::Keys;
        now.to = d + 1 == digits ? Form::Positions : Form::Keys;
        pass(now, d, d == 0 ? std::vector{x} : pairs[(d + 1) % 2].both(),
             d + 1 == digits ? std::vector{result.where} : pairs[d % 2].both());
      }
    }

    void pass(SortKey now, uint32_t digit, const std::vector<hal::Binding>& from,
              const std::vector<hal::Binding>& to) const {
      now.shift = static_cast<uint8_t>(digit * kDigitBits);
      const std::vector<int64_t> sizes = {cut.rows, cut.pieces, cut.length, cut.piece};
      SortKey counted = now;  // the same for every kind of result
      counted.to = Form::Keys;
      context.fill(tally, 0);
      launch_lanes(context,
                   context.kept("sort_count", counted,
                                [&] { return DigitPass("sort_count", counted).count(); }),
                   now.index, cut.rows * cut.pieces, sizes, {from[0], tally.where});
      scan(context, program::Combine::Add, now.index, {cut.rows, kDigits * cut.pieces, 1}, tally,
           sums);
      launch_lanes(
          context,
          context.kept("sort_starts", now.index, [&] { return starts_program(now.index); }),
          now.index, cut.counts(), {cut.counts()}, {sums.where, tally.where});
      std::vector<hal::Binding> bindings = from;
      bindings.push_back(tally.where);
      bindings.insert(bindings.end(), to.begin(), to.end());
      launch_lanes(
          context,
          context.kept("sort_move", now, [&] { return DigitPass("sort_move", now).move(); }),
          now.index, cut.rows * cut.pieces, sizes, bindings);
    }
  };

  const bool descending_;
  const Form form_;
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
  const Value halves = b.scalar("halves", key.index), i = b.global_id(0);
  b.if_(i < n, [&] {
    const Value mine = key_of(b, b.load(values, i), key.element, false);
    const Var first = b.var(b.constant(key.index, int64_t{0})), count = b.var(length);
    // As often for all, without branches: nothing of this can be foreseen.
    b.for_(b.constant(key.index, int64_t{0}), halves, 1, [&](Value) {
      const Value half = b.get(count) / 2, middle = b.get(first) + half;
      const Value other = key_of(b, b.load(sorted, middle), key.element, false);
      const Value precedes = (b.get(count) > 0) & (key.behind ? other <= mine : other < mine);
      b.set(first, select(precedes, middle + 1, b.get(first)));
      b.set(count, select(precedes, b.get(count) - half - 1, half));
    });
    b.store(positions, i, b.cast(b.get(first), DType::I64));
  });
  return b.finish();
}

class SearchWork : public Work {
 public:
  explicit SearchWork(bool behind) : behind_(behind) {}
  std::string_view name() const override { return "searchsorted"; }
  std::string done_by(Context& context, const Node& node) const override {
    return context.done_by(desc_of(node));
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node &sorted = *node.inputs[0].node, &values = *node.inputs[1].node;
    const int64_t n = element_count(node.shape), length = element_count(sorted.shape);
    if (context.by_library(desc_of(node), {sorted.result.where, values.result.where, result.where}))
      return;
    SearchKey key{sorted.dtype, Box::index_type(std::max(n, length)), behind_};
    const auto halves = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(length)));
    const uint64_t scalars[] = {index_bits(key.index, n), index_bits(key.index, length),
                                index_bits(key.index, halves)};
    const hal::Binding bindings[] = {sorted.result.where, values.result.where, result.where};
    const Grid grid = {(static_cast<uint64_t>(n) + kBoxLanes - 1) / kBoxLanes, 1, 1};
    context.launch(context.kept("search", key, [&] { return search_program(key); }), grid, bindings,
                   scalars);
  }

 private:
  hal::SearchDesc desc_of(const Node& node) const {
    const Node& sorted = *node.inputs[0].node;
    return {.dtype = sorted.dtype,
            .behind = behind_,
            .count = element_count(node.shape),
            .length = element_count(sorted.shape)};
  }

  const bool behind_;
};

}  // namespace

void argsort(Context& context, DType dtype, int64_t count, const hal::Binding& x,
             const Storage& positions) {
  const SortKey key{dtype, Box::index_type(count), false, 0, Form::Elements, Form::Positions};
  SortWork::sort_rows(context, key, 1, count, x, positions);
}

std::unique_ptr<const Work> sort_work(bool descending) {
  return std::make_unique<SortWork>(descending, Form::Elements);
}
std::unique_ptr<const Work> argsort_work(bool descending) {
  return std::make_unique<SortWork>(descending, Form::Positions);
}
std::unique_ptr<const Work> search_work(bool behind) {
  return std::make_unique<SearchWork>(behind);
}

}  // namespace hologram::graph
