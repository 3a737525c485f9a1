#include "algorithms/group_scan.hpp"

#include "algorithms/scan.hpp"
#include "algorithms/sort_keys.hpp"
#include "algorithms/tiles.hpp"
#include "engine/context.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;

// Rows that keep a device busy by themselves, and pieces that do.
constexpr int64_t kManyRows = 128, kMostPieces = 1024;

struct GroupScanKey {
  DType dtype, index;
  Combine combine;
  uint8_t of_lane;
  bool totals;  // only the result of each piece
};

class Maker {
 public:
  explicit Maker(const GroupScanKey& key)
      : b_(key.totals ? "scan_piece_totals" : "scan_pieces", {kTileLanes}, key.index), key_(key) {}

  Program totals() {
    const Buf x = b_.buffer("x", key_.dtype, Access::In);
    const Buf y = b_.buffer("y", key_.dtype, Access::Out);
    const PieceOfGroup piece(b_, key_.index);
    const Var sum = b_.var(nothing());
    for_each_loaded(b_, x, piece.first, piece.elements, key_.of_lane,
                    [&](Value, Value term) { b_.set(sum, next(b_.get(sum), term)); });
    const Value total = b_.group_reduce(key_.combine, b_.get(sum));
    b_.if_(b_.lane_id(0) == 0, [&] { b_.store(y, b_.group_id(0), total); });
    return b_.finish();
  }

  // Each piece goes on from the scanned total of the one before.
  Program pieces() {
    const Buf x = b_.buffer("x", key_.dtype, Access::In);
    const Buf before = b_.buffer("before", key_.dtype, Access::In);
    const Buf y = b_.buffer("y", key_.dtype, Access::Out);
    const PieceOfGroup piece(b_, key_.index);
    const program::Shared sums = b_.shared("sums", compute_type(key_.dtype), kTileLanes);
    TileOfGroup tile(b_, key_.dtype, key_.index, key_.of_lane);
    const Value at_before = select(piece.piece > 0, b_.group_id(0) - 1, -1);
    const Var sum = b_.var(select(piece.piece > 0, b_.load(before, at_before), nothing()));
    const Value zero = b_.constant(key_.index, int64_t{0});
    b_.for_(zero, piece.elements, key_.of_lane * kTileLanes, [&](Value begin) {
      b_.barrier();
      tile.bring(x, piece.first + begin, piece.elements - begin);
      b_.barrier();
      Value mine = nothing();
      tile.own(
          [&](Value i) { mine = next(mine, select(i < tile.count(), tile.load(i), nothing())); });
      b_.store(sums, tile.lane(), b_.group_scan(key_.combine, mine));
      b_.barrier();
      const Value lane_before = select(tile.lane() > 0, tile.lane() - 1, 0);
      Value now = next(b_.get(sum), select(tile.lane() > 0, b_.load(sums, lane_before), nothing()));
      tile.own([&](Value i) {
        now = next(now, tile.load(i));
        tile.store(i, now);
      });
      b_.set(sum, next(b_.get(sum), b_.load(sums, zero + (kTileLanes - 1))));
      b_.barrier();
      tile.each(tile.count(), [&](Value i) { b_.store(y, piece.first + begin + i, tile.load(i)); });
    });
    return b_.finish();
  }

 private:
  Value nothing() { return scan_start(b_, key_.combine, key_.dtype); }
  Value next(Value sum, Value term) const { return scan_next(key_.combine, sum, term); }

  Builder b_;
  const GroupScanKey key_;
};

}  // namespace

void scan_by_groups(Context& context, Combine combine, DType dtype, int64_t rows, int64_t length,
                    const Storage& from, const Storage& to) {
  const size_t bytes = size_of(compute_type(dtype));
  const uint32_t most = most_of_lane(context.device(), bytes, 2 * kTileLanes * bytes);
  GroupScanKey key{dtype, Box::index_type(rows * length + length + kLongestTile), combine,
                   static_cast<uint8_t>(some_of_lane(length, most)), false};
  const Pieces cut(rows, length, key.of_lane, rows < kManyRows ? kMostPieces : rows);
  const Storage none = context.allocate(0);
  const auto launch = [&](const std::vector<hal::Binding>& bindings) {
    launch_lanes(
        context,
        context.kept("group scan", key,
                     [&] { return key.totals ? Maker(key).totals() : Maker(key).pieces(); }),
        key.index, cut.lanes(), cut.sizes(), bindings);
  };
  if (cut.count == 1) return launch({from.where, none.where, to.where});
  const uint64_t of_pieces = static_cast<uint64_t>(cut.groups()) * size_of(dtype);
  const Storage totals = context.allocate(of_pieces), before = context.allocate(of_pieces);
  key.totals = true;
  launch({from.where, totals.where});
  scan_by_groups(context, combine, dtype, rows, cut.count, totals, before);
  key.totals = false;
  launch({from.where, before.where, to.where});
}

}  // namespace hologram::graph
