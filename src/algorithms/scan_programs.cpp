#include "algorithms/scan_programs.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/scan.hpp"
#include "hologram/hal/operations.hpp"
#include "program/extended_range.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;
using Extended = program::Extended<Value>;
using Results = ScanKey::Results;

constexpr int64_t kPiece = hal::ScanDesc::kPiece;

// Numbers in memory, with exponents of their own or without.
struct Numbers {
  Buf values;
  std::optional<Buf> exponents;
};

// Powers of two, as they are put together from bits.
struct Powers {
  explicit Powers(DType type) : wide(type == DType::F64) {}
  bool wide;
  int64_t bias() const { return wide ? 1023 : 127; }
  int64_t mantissa() const { return wide ? 52 : 23; }
  int64_t block() const { return wide ? 960 : 120; }  // of extended numbers
  DType word() const { return wide ? DType::U64 : DType::U32; }
  // Products of a few factors of which the last one is within these can be scaled by any exponent
  // in two steps, of which at most one rounds.
  double low() const { return wide ? 0x1p-900 : 0x1p-100; }
  double high() const { return wide ? 0x1p900 : 0x1p90; }
};

// What a walk through a piece is made of, whichever way its lanes take. Sums go in plain
// arithmetic, which has the same bits as long as they are finite. Products have an exponent beside
// them, by which they are brought near 1 every few factors. If something has left the range of the
// type all the same, the lane walks once more, with exponents that do not end.
class Piece {
 public:
  Piece(Builder& builder, const ScanKey& key)
      : b_(builder),
        key_(key),
        type_(compute_type(key.dtype)),
        products_(key.combine == Combine::Mul),
        watched_(is_float(key.dtype)),
        scaled_(products_ && watched_),
        powers_(type_),
        x_(numbers("x", Access::In, key.extended ? type_ : key.dtype, key.extended)) {
    if (key.results != Results::None)
      y_ = numbers("y", Access::Out, key.results == Results::Extended ? type_ : key.dtype,
                   key.results == Results::Extended);
    if (key.totals) totals_ = numbers("totals", Access::Out, type_, watched_);
    for (uint32_t k = 0; k < key.levels; k++)
      levels_.emplace_back().numbers =
          numbers("before" + std::to_string(k), Access::In, type_, watched_);
  }
  void declare_sizes() {
    pieces = b_.scalar("pieces", key_.index);
    length = b_.scalar("length", key_.index);
    if (key_.totals) whole_ = b_.scalar("whole", key_.index);
    for (size_t k = 0; k < levels_.size(); k++)
      levels_[k].count = b_.scalar("count" + std::to_string(k), key_.index);
  }
  Value pieces, length;

  // Element `at` for plain arithmetic; outside it is 0.
  Value load(Value at) {
    const Value x = b_.load(x_.values, at);
    if (!key_.extended || !watched_) return x;
    return plain({x, b_.load(*x_.exponents, at)});
  }
  void store(Value at, Value result) {
    b_.store(y_->values, at, result);
    if (y_->exponents) b_.store(*y_->exponents, at, exponent(0));
  }

  // A piece of a row, of which entry i of `inner` is at (row * length + position) * inner + i.
  void begin(Value row, Value piece, Value inner, Value i) {
    row_ = row, piece_ = piece, inner_ = inner, i_ = i;
    sum_ = b_.var(nothing());
    if (watched_) wrong_ = b_.var(truth(false));
    if (scaled_) {
      zero_ = b_.var(truth(false));
      exponent_ = b_.var(exponent(0));
      starts_exponent_ = exponent(0);
    }
    Value q = piece;
    for (size_t k = 0; k < levels_.size(); k++, q = q / kPiece) begin(levels_[k], q, k);
  }

  struct State {
    Value sum, wrong;
    Value zero, exponent;  // of products: whether a factor was 0; blocks that were taken out
    Value small, large;    // what results are scaled by
  };
  State state() {
    State s = {b_.get(sum_), watched_ ? b_.get(wrong_) : Value(), {}, {}, {}, {}};
    if (scaled_) s.zero = b_.get(zero_), s.exponent = b_.get(exponent_);
    return s;
  }
  void keep(const State& s) {
    b_.set(sum_, s.sum);
    if (watched_) b_.set(wrong_, s.wrong);
    if (!scaled_) return;
    b_.set(zero_, s.zero);
    b_.set(exponent_, s.exponent);
  }

  // Before every few elements: brings products near 1.
  static constexpr uint32_t kScaledAtOnce = 4;
  void scale(State& s) {
    if (!scaled_) return;
    const Extended near = program::extended::balanced(Extended{s.sum, s.exponent});
    s.sum = near.value;
    s.exponent = near.exponent;
    const Value all = s.exponent * powers_.block() + starts_exponent_;
    const Value large = min(max(all, 1 - powers_.bias()), powers_.bias());
    const int64_t most = powers_.bias() - 1;
    s.small = power_of_two(min(max(all - large, -most), most));
    s.large = power_of_two(large);
  }

  // The next element; the result there.
  Value next(State& s, Value x) {
    s.sum = scan_next(key_.combine, s.sum, x);
    Value result = s.sum;
    if (scaled_) {
      const Value size = program::extended::magnitude(s.sum);
      s.zero = s.zero | (x == 0);
      s.wrong = s.wrong | !(s.zero | ((size >= powers_.low()) & (size < powers_.high())));
      for (const Level& level : levels_) result = level.plain * result;
      result = result * s.small * s.large;
      if (key_.results == Results::Extended) s.wrong = s.wrong | !is_settled(s, result);
      return result;
    }
    for (const Level& level : levels_) {
      result = scan_next(key_.combine, level.plain, result);
      // A sum that is not finite stays so.
      if (watched_) s.wrong = s.wrong | (level.is_finite & !program::extended::is_finite(result));
    }
    return result;
  }

  // Behind the last element.
  void end(Value first, Value last) {
    const State s = state();
    Extended total = {s.sum, watched_ ? exponent(0) : Value()};
    if (scaled_) total = program::settled(Extended{s.sum, s.exponent});
    if (watched_) {
      const Var value = b_.var(total.value), e = b_.var(total.exponent);
      b_.if_(s.wrong | !program::extended::is_finite(s.sum), [&] {
        const Extended again = program::settled(walk_extended(first, last));
        b_.set(value, again.value);
        b_.set(e, again.exponent);
      });
      total = {b_.get(value), b_.get(e)};
    }
    if (!key_.totals) return;
    b_.if_(piece_ < whole_, [&] { put(*totals_, (row_ * whole_ + piece_) * inner_ + i_, total); });
  }

 private:
  struct Level {
    Numbers numbers;
    Value count;      // of a row
    Extended start;   // what comes before the piece, within the level's block
    Value plain;      // the same; a sum that needs its exponent is NaN, a product near 1
    Value is_finite;  // this one and those below
  };

  Numbers numbers(const std::string& name, Access access, DType type, bool extended) {
    Numbers made{b_.buffer(name, type, access), {}};
    if (extended && watched_) made.exponents = b_.buffer(name + "_exponents", DType::I32, access);
    return made;
  }
  Value exponent(int64_t e) { return b_.constant(DType::I32, e); }
  Value truth(bool t) { return b_.constant(DType::Bool, int64_t{t}); }
  Value nothing() { return scan_start(b_, key_.combine, key_.dtype); }
  // 2^e, a normal number.
  Value power_of_two(Value e) {
    const Value bits = b_.cast(e + powers_.bias(), powers_.word())
                       << b_.constant_bits(DType::U32, static_cast<uint64_t>(powers_.mantissa()));
    return b_.bitcast(bits, type_);
  }
  // Whether the exponent 0 is that of the result, where it has one of its own.
  Value is_settled(const State& s, Value result) {
    Value zero = s.zero;
    for (const Level& level : levels_) zero = zero | (level.plain == 0);
    const Value is_normal =
        program::extended::magnitude(result) >= program::extended::limits(result).smallest;
    return program::extended::is_finite(result) & (is_normal | zero);
  }
  Value plain(const Extended& x) {
    return select(x.exponent == 0, x.value, std::numeric_limits<double>::quiet_NaN());
  }
  Extended get(const Numbers& from, Value at) {
    return {b_.load(from.values, at), from.exponents ? b_.load(*from.exponents, at) : exponent(0)};
  }
  void put(const Numbers& to, Value at, const Extended& x) {
    b_.store(to.values, at, x.value);
    if (to.exponents) b_.store(*to.exponents, at, x.exponent);
  }
  Extended combined(const Extended& a, const Extended& b) {
    return products_ ? program::extended_product(a, b) : program::extended_sum(a, b);
  }

  // What is read outside is 0, and not taken.
  void begin(Level& level, Value q, size_t k) {
    const Value has = q % kPiece > 0;
    const Value at = select(has, (row_ * level.count + (q - 1)) * inner_ + i_, -1);
    const Extended read = get(level.numbers, at);
    level.start = {select(has, read.value, nothing()), read.exponent};
    if (scaled_) return take_exponent(level);
    level.plain = watched_ ? plain(level.start) : level.start.value;
    if (!watched_) return;
    b_.set(wrong_, b_.get(wrong_) | (level.start.exponent != 0));
    level.is_finite = program::extended::is_finite(level.plain);
    if (k > 0) level.is_finite = level.is_finite & levels_[k - 1].is_finite;
  }
  // Leaves a number of at least 1 and below 2; zeros and what is not finite are left as they are,
  // and denormal numbers, which only what is not settled has, to the lane's other walk.
  void take_exponent(Level& level) {
    const DType word = powers_.word();
    const Value shift = b_.constant_bits(DType::U32, static_cast<uint64_t>(powers_.mantissa()));
    const Value value = level.start.value, size = program::extended::magnitude(value);
    const Value bits = b_.bitcast(value, word), one = b_.bitcast(b_.constant(type_, 1.0), word);
    const Value exponents = b_.constant(word, 2 * powers_.bias() + 1) << shift;
    const Value own = b_.cast(b_.bitcast(size, word) >> shift, DType::I32) - powers_.bias();
    const Value is_finite = program::extended::is_finite(value);
    const Value is_normal = is_finite & (size >= program::extended::limits(value).smallest);
    const Value near = b_.bitcast((bits & ~exponents) | one, type_);
    level.plain = select(is_normal, near, value);
    starts_exponent_ =
        starts_exponent_ + select(is_normal, own + level.start.exponent * powers_.block(), 0);
    b_.set(wrong_, b_.get(wrong_) | (is_finite & !is_normal & (value != 0)));
  }

  // Reads some elements ahead of what it computes: it has few lanes, and they would wait for each.
  Extended walk_extended(Value first, Value last) {
    constexpr int64_t kAhead = 4;
    const Var value = b_.var(nothing()), e = b_.var(exponent(0));
    b_.for_(first, last, kAhead, [&](Value j) {
      std::vector<Value> at;
      std::vector<Extended> elements;
      for (int64_t k = 0; k < kAhead; k++) {
        at.push_back((row_ * length + (k == 0 ? j : min(j + k, last - 1))) * inner_ + i_);
        elements.push_back(get(x_, at.back()));
      }
      for (int64_t k = 0; k < kAhead; k++) {
        const auto one = [&] {
          walk_one(value, e, at[static_cast<size_t>(k)], elements[static_cast<size_t>(k)]);
        };
        if (k == 0) one();
        else b_.if_(j + k < last, one);
      }
    });
    return {b_.get(value), b_.get(e)};
  }
  void walk_one(Var value, Var e, Value at, const Extended& element) {
    const Extended now = combined({b_.get(value), b_.get(e)}, element);
    b_.set(value, now.value);
    b_.set(e, now.exponent);
    if (!y_) return;
    Extended result = now;
    for (const Level& level : levels_) result = combined(level.start, result);
    if (key_.results == Results::Extended) put(*y_, at, program::settled(result));
    else b_.store(y_->values, at, program::rounded(result));
  }

  Builder& b_;
  const ScanKey key_;
  const DType type_;
  const bool products_, watched_, scaled_;  // scaled: products that have an exponent beside them
  const Powers powers_;
  Numbers x_;
  std::optional<Numbers> y_, totals_;
  std::vector<Level> levels_;
  Value whole_;
  Value row_, piece_, inner_, i_;
  Var sum_{}, wrong_{}, zero_{}, exponent_{};
  Value starts_exponent_;  // that of what comes before the piece, all levels together
};

std::string name_of(const ScanKey& key, std::string_view by) {
  std::string name(by);
  if (key.extended) name += "_totals";
  if (key.results == Results::None) name += "_to_totals";
  return name;
}

}  // namespace

Program piece_program(const ScanKey& key) {
  Builder b(name_of(key, "scan"), {kBoxLanes}, key.index);
  Piece walk(b, key);
  std::array<Value, 3> n;
  for (size_t k = 0; k < 3; k++) n[k] = b.scalar("n" + std::to_string(k), key.index);
  walk.declare_sizes();
  const Place p = place(b, key.lanes_axis, n);
  b.if_(p.inside, [&] {
    const Value row = p.at[0], piece = p.at[1], i = p.at[2];
    const Value first = piece * kPiece, last = min(first + kPiece, walk.length);
    walk.begin(row, piece, n[2], i);
    b.for_(first, last, 1, [&](Value j) {
      const Value at = (row * walk.length + j) * n[2] + i;
      Piece::State s = walk.state();
      walk.scale(s);
      const Value result = walk.next(s, walk.load(at));
      walk.keep(s);
      if (key.results != Results::None) walk.store(at, result);
    });
    walk.end(first, last);
  });
  return b.finish();
}

// A group brings some elements of all its pieces at a time into its memory, and their sums away
// from there, in the order in which they lie. Between that a lane each goes through a piece.
Program tiles_program(const ScanKey& key) {
  constexpr uint32_t kTileLanes = 256, kTilePieces = kScanTilePieces;
  Builder b(name_of(key, "scan_rows"), {kTileLanes}, key.index);
  Piece walk(b, key);
  const Value all = b.scalar("all", key.index);  // pieces, of all rows
  walk.declare_sizes();
  const DType t = compute_type(key.dtype);
  // Of a piece at a time, with one more place for each in the group's memory, so that lanes that
  // go through their pieces do not wait for each other.
  const uint32_t wide = size_of(t) == 8 ? 16 : 32, apart = wide + 1;
  const program::Shared tile = b.shared("tile", t, kTilePieces * apart);
  const program::Shared begins = b.shared("begins", key.index, kTilePieces);
  const program::Shared ends = b.shared("ends", key.index, kTilePieces);
  const bool has_results = key.results != Results::None;

  const Value lane = b.lane_id(0), zero = b.constant(key.index, int64_t{0});
  const Value unit = b.group_id(0) * kTilePieces + lane;
  const Value row = unit / walk.pieces, piece = unit % walk.pieces;
  const Value has_piece = lane < kTilePieces, own = lane * apart;
  const Value first = piece * kPiece, last = min(first + kPiece, walk.length);
  b.if_(has_piece, [&] {
    b.store(begins, lane, row * walk.length + first);
    b.store(ends, lane, select(unit < all, row * walk.length + last, zero));
  });
  // The lanes without one read what those of the first piece do.
  const Value at_piece = select(has_piece & (unit < all), piece, zero);
  walk.begin(select(has_piece & (unit < all), row, zero), at_piece, zero + 1, zero);
  const auto each = [&](const auto& body) {
    const Value column = lane % wide, of_first = lane / wide;
    for (uint32_t r = 0; r < kTilePieces; r += kTileLanes / wide) {
      const Value of = of_first + r;
      body(of, column, of * apart + column);
    }
  };
  // What comes next is on its way while lanes go through what is there.
  std::vector<Var> coming;
  const auto bring = [&](Value of, Value position) {
    const Value at = b.load(begins, of) + position;
    return walk.load(select(at < b.load(ends, of), at, -1));
  };
  b.barrier();
  each([&](Value of, Value column, Value) { coming.push_back(b.var(bring(of, column))); });
  b.for_(zero, min(walk.length, kPiece), wide, [&](Value j) {
    size_t k = 0;
    b.barrier();
    each([&](Value, Value, Value place) { b.store(tile, place, b.get(coming[k++])); });
    k = 0;
    each([&](Value of, Value column, Value) { b.set(coming[k++], bring(of, j + wide + column)); });
    b.barrier();
    b.if_(has_piece, [&] {
      Piece::State s = walk.state();
      for (uint32_t k = 0; k < wide; k++) {
        if (k % Piece::kScaledAtOnce == 0) walk.scale(s);
        const Value result = walk.next(s, b.load(tile, own + k));
        if (has_results) b.store(tile, own + k, result);
      }
      walk.keep(s);
    });
    if (!has_results) return;
    b.barrier();
    each([&](Value of, Value column, Value place) {
      const Value at = b.load(begins, of) + (j + column);
      b.if_(at < b.load(ends, of), [&] { walk.store(at, b.load(tile, place)); });
    });
  });
  // A lane may write once more what others wrote.
  if (has_results) b.barrier();
  b.if_(has_piece, [&] { b.if_(unit < all, [&] { walk.end(first, last); }); });
  return b.finish();
}

}  // namespace hologram::graph
