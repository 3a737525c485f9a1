#include "graph/scan.hpp"

#include <algorithm>
#include <vector>

#include "graph/box.hpp"
#include "graph/context.hpp"
#include "graph/group_scan.hpp"
#include "graph/layout.hpp"
#include "graph/order_works.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;

constexpr int64_t kPiece = hal::ScanDesc::kPiece;

struct ScanKey {
  DType dtype, index;
  Combine combine;
  int8_t lanes_axis;
  bool totals;  // only the result of each piece
};

// A lane goes through one piece. Unless totals are wanted, it begins with the scanned total of the
// piece before.
Program piece_program(const ScanKey& key) {
  Builder b(key.totals ? "scan_totals" : "scan", {kBoxLanes}, key.index);
  const Buf x = b.buffer("x", key.dtype, Access::In);
  const Buf before = b.buffer("before", key.dtype, Access::In);
  const Buf y = b.buffer("y", key.dtype, Access::Out);
  std::array<Value, 3> n;
  for (size_t k = 0; k < 3; k++) n[k] = b.scalar("n" + std::to_string(k), key.index);
  const Value length = b.scalar("length", key.index);
  const Place p = place(b, key.lanes_axis, n);
  b.if_(p.inside, [&] {
    const Value o = p.at[0], piece = p.at[1], i = p.at[2];
    const Value nothing = scan_start(b, key.combine, key.dtype);
    const auto total_at = [&](Value at) { return (o * n[1] + at) * n[2] + i; };
    // The first piece reads outside, which gives 0, and takes what stands for nothing instead.
    const Value start =
        key.totals ? nothing
                   : select(piece > 0, b.load(before, select(piece > 0, total_at(piece - 1), -1)),
                            nothing);
    const Var sum = b.var(start);
    const Value first = piece * kPiece;
    b.for_(first, min(first + kPiece, length), 1, [&](Value j) {
      const Value at = (o * length + j) * n[2] + i;
      b.set(sum, scan_next(key.combine, b.get(sum), b.load(x, at)));
      if (!key.totals) b.store(y, at, b.get(sum));
    });
    if (key.totals) b.store(y, total_at(piece), b.get(sum));
  });
  return b.finish();
}

// The same for rows, which neighbours in memory are in, on devices whose lanes read together: a
// group brings some elements of all its pieces at a time into its memory, and their sums away from
// there, in the order in which they lie. Between that a lane each goes through a piece.
constexpr uint32_t kTileLanes = 256, kTilePieces = 64;

Program tiles_program(const ScanKey& key) {
  Builder b(key.totals ? "scan_row_totals" : "scan_rows", {kTileLanes}, key.index);
  const Buf x = b.buffer("x", key.dtype, Access::In);
  const Buf before = b.buffer("before", key.dtype, Access::In);
  const Buf y = b.buffer("y", key.dtype, Access::Out);
  const Value all = b.scalar("all", key.index);  // pieces, of all rows
  const Value pieces = b.scalar("pieces", key.index), length = b.scalar("length", key.index);
  const DType t = compute_type(key.dtype);
  // Of a piece at a time, with one more place for each in the group's memory, so that lanes that
  // go through their pieces do not wait for each other.
  const uint32_t wide = size_of(t) == 8 ? 16 : 32, apart = wide + 1;
  const program::Shared tile = b.shared("tile", t, kTilePieces * apart);
  const program::Shared begins = b.shared("begins", key.index, kTilePieces);
  const program::Shared ends = b.shared("ends", key.index, kTilePieces);

  const Value lane = b.lane_id(0), zero = b.constant(key.index, int64_t{0});
  const Value unit = b.group_id(0) * kTilePieces + lane, piece = unit % pieces;
  const Value has_piece = lane < kTilePieces, own = lane * apart;
  const Value nothing = scan_start(b, key.combine, key.dtype);
  const Var sum = b.var(nothing);
  b.if_(has_piece, [&] {
    const Value first = unit / pieces * length + piece * kPiece;
    const Value count = min(length - piece * kPiece, kPiece);
    b.store(begins, lane, first);
    b.store(ends, lane, select(unit < all, first + count, zero));
    // What is read outside is 0.
    if (!key.totals)
      b.set(sum, select(piece > 0, b.load(before, select(piece > 0, unit - 1, -1)), nothing));
  });
  const auto each = [&](const auto& body) {
    const Value column = lane % wide, row = lane / wide;
    for (uint32_t r = 0; r < kTilePieces; r += kTileLanes / wide) {
      const Value of = row + r;
      body(of, column, of * apart + column);
    }
  };
  // What comes next is on its way while lanes go through what is there. Behind the end of a row
  // lies what no sum is made of.
  std::vector<Var> coming;
  b.barrier();
  each([&](Value of, Value column, Value) {
    coming.push_back(b.var(b.load(x, b.load(begins, of) + column)));
  });
  b.for_(zero, min(length, kPiece), wide, [&](Value j) {
    size_t k = 0;
    b.barrier();
    each([&](Value, Value, Value place) { b.store(tile, place, b.get(coming[k++])); });
    k = 0;
    const Value is_more = j + wide < kPiece;
    each([&](Value of, Value column, Value) {
      const Value at = b.load(begins, of) + (j + wide + column);
      b.set(coming[k++], b.load(x, select(is_more, at, -1)));
    });
    b.barrier();
    b.if_(has_piece, [&] {
      Value now = b.get(sum);
      for (uint32_t k = 0; k < wide; k++) {
        now = scan_next(key.combine, now, b.load(tile, own + k));
        if (!key.totals) b.store(tile, own + k, now);
      }
      b.set(sum, now);
    });
    if (key.totals) return;
    b.barrier();
    each([&](Value of, Value column, Value place) {
      const Value at = b.load(begins, of) + (j + column);
      b.if_(at < b.load(ends, of), [&] { b.store(y, at, b.load(tile, place)); });
    });
  });
  if (key.totals)
    b.if_(has_piece, [&] { b.if_(unit < all, [&] { b.store(y, unit, b.get(sum)); }); });
  return b.finish();
}

class ScanWork : public Work {
 public:
  explicit ScanWork(Combine combine) : combine_(combine) {}
  std::string_view name() const override { return combine_ == Combine::Mul ? "cumprod" : "cumsum"; }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Storage& x = node.inputs[0].node->result;
    const hal::ScanDesc desc = desc_of(node);
    if (context.by_library(desc, {x.where, result.where})) return;
    scan(context, combine_, node.dtype, desc.lengths, x, result);
  }

  std::string done_by(Context& context, const Node& node) const override {
    return context.done_by(desc_of(node));
  }

 private:
  hal::ScanDesc desc_of(const Node& node) const {
    return {.dtype = node.dtype,
            .products = combine_ == Combine::Mul,
            .lengths = {node.shape[0], node.shape[1], node.shape[2]}};
  }

  Combine combine_;
};

}  // namespace

Value scan_start(Builder& builder, Combine combine, DType dtype) {
  return builder.constant(compute_type(dtype), int64_t{combine == Combine::Mul ? 1 : 0});
}
Value scan_next(Combine combine, Value sum, Value term) {
  return combine == Combine::Mul ? sum * term : sum + term;
}

void scan(Context& context, Combine combine, DType dtype, const std::array<int64_t, 3>& lengths,
          const Storage& from, const Storage& to, bool by_tiles) {
  const auto [outer, length, inner] = lengths;
  const int64_t pieces = (length + kPiece - 1) / kPiece, all = outer * pieces;
  const Box box{{outer, pieces, inner}, hints_of(context.device()).in_turns};
  ScanKey key{dtype, Box::index_type(outer * std::max(length, pieces * kPiece) * inner), combine,
              static_cast<int8_t>(by_tiles ? 0 : box.lanes_axis()), false};
  std::vector<uint64_t> scalars;
  for (const int64_t n :
       by_tiles ? std::vector{all, pieces, length} : std::vector{outer, pieces, inner, length})
    scalars.push_back(index_bits(key.index, n));
  const Grid grid = by_tiles
                        ? Grid{static_cast<uint64_t>(all + kTilePieces - 1) / kTilePieces, 1, 1}
                        : box.grid();
  const auto launch = [&](bool totals, const Storage& before, const Storage& into) {
    key.totals = totals;
    const hal::Binding bindings[] = {from.where, before.where, into.where};
    const Program& program =
        by_tiles ? context.kept("scan by tiles", key, [&] { return tiles_program(key); })
                 : context.kept("scan", key, [&] { return piece_program(key); });
    context.launch(program, grid, bindings, scalars);
  };
  const Storage none = context.allocate(0);
  if (pieces <= 1) return launch(false, none, to);
  const uint64_t bytes = static_cast<uint64_t>(all * inner) * size_of(dtype);
  const Storage totals = context.allocate(bytes), before = context.allocate(bytes);
  launch(true, none, totals);
  scan(context, combine, dtype, {outer, pieces, inner}, totals, before, by_tiles);
  launch(false, before, to);
  context.settle();
}

void scan(Context& context, Combine combine, DType dtype, const std::array<int64_t, 3>& lengths,
          const Storage& from, const Storage& to) {
  // A processor reads the piece of one lane best.
  const bool by_tiles = lengths[2] == 1 && !hints_of(context.device()).in_turns;
  // Of rows of a piece, a group has some.
  if (by_tiles && is_integer(dtype) && lengths[1] > kPiece) {
    scan_by_groups(context, combine, dtype, lengths[0], lengths[1], from, to);
    return context.settle();
  }
  scan(context, combine, dtype, lengths, from, to, by_tiles);
}

std::unique_ptr<const Work> scan_work(Combine combine) {
  return std::make_unique<ScanWork>(combine);
}

}  // namespace hologram::graph
