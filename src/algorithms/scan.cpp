#include "algorithms/scan.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/group_scan.hpp"
#include "algorithms/order.hpp"
#include "algorithms/scan_programs.hpp"
#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"

namespace hologram::graph {
namespace {

using program::Builder;
using program::Combine;
using program::Value;

using Results = ScanKey::Results;

constexpr int64_t kPiece = hal::ScanDesc::kPiece;

// Totals or what comes before: numbers of a level, so many a row.
struct Level {
  int64_t count = 0;
  Storage values, exponents;  // those of floats alone
};

class Scan {
 public:
  Scan(Context& context, Combine combine, DType dtype, const std::array<int64_t, 3>& lengths,
       bool by_tiles)
      : context_(context),
        combine_(combine),
        dtype_(dtype),
        outer_(lengths[0]),
        inner_(lengths[2]),
        by_tiles_(by_tiles),
        index_(Box::index_type(outer_ * (lengths[1] + kPiece) * inner_)) {}

  void run(int64_t length, const Storage& from, const Storage& to) {
    int64_t whole = (length - 1) / kPiece;  // pieces that others come after
    if (whole > 0) {
      Level totals = level(whole);
      launch(Results::None, {length, from, {}}, nullptr, &totals);
      for (; whole > 0; totals = std::move(next_)) {
        whole /= kPiece;
        Level before = level(totals.count);
        next_ = level(whole);
        launch(Results::Extended, totals, &before, whole > 0 ? &next_ : nullptr);
        levels_.push_back(std::move(before));
      }
    }
    const Level results{length, to, {}};
    launch(Results::Elements, {length, from, {}}, &results, nullptr);
  }

 private:
  Level level(int64_t count) {
    const auto all = static_cast<uint64_t>(outer_ * count * inner_);
    Level made{count, {}, {}};
    if (count == 0) return made;
    made.values = context_.allocate(all * size_of(compute_type(dtype_)));
    if (is_float(dtype_)) made.exponents = context_.allocate(all * sizeof(int32_t));
    return made;
  }

  void launch(Results what, const Level& x, const Level* results, const Level* totals) {
    // Of totals alone those of the last piece are nobody's.
    const int64_t pieces = what == Results::None ? totals->count : (x.count + kPiece - 1) / kPiece;
    const bool extended = what == Results::Extended;
    const Box box{{outer_, pieces, inner_}, hints_of(context_.device()).sequential_lanes};
    ScanKey key{.dtype = dtype_,
                .index = index_,
                .combine = combine_,
                .lanes_axis = static_cast<int8_t>(by_tiles_ ? 0 : box.lanes_axis()),
                .results = what,
                .extended = extended,
                .totals = totals != nullptr,
                .levels = static_cast<uint8_t>(what == Results::Elements ? levels_.size() : 0)};
    std::vector<int64_t> sizes =
        by_tiles_ ? std::vector{outer_ * pieces} : std::vector{outer_, pieces, inner_};
    sizes.insert(sizes.end(), {pieces, x.count});
    std::vector<hal::Binding> bindings;
    const auto bind = [&](const Level& level, bool with_exponents) {
      bindings.push_back(level.values.where);
      if (with_exponents && is_float(dtype_)) bindings.push_back(level.exponents.where);
    };
    bind(x, extended);
    if (results != nullptr) bind(*results, extended);
    if (totals != nullptr) bind(*totals, true), sizes.push_back(totals->count);
    for (size_t k = 0; k < key.levels; k++)
      bind(levels_[k], true), sizes.push_back(levels_[k].count);
    std::vector<uint64_t> scalars;
    scalars.reserve(sizes.size());
    for (const int64_t n : sizes) scalars.push_back(index_bits(index_, n));
    const auto tiles =
        static_cast<uint64_t>(outer_ * pieces + kScanTilePieces - 1) / kScanTilePieces;
    const Program& program =
        by_tiles_ ? context_.kept("scan by tiles", key, [&] { return tiles_program(key); })
                  : context_.kept("scan", key, [&] { return piece_program(key); });
    context_.launch(program, by_tiles_ ? Grid{tiles, 1, 1} : box.grid(), bindings, scalars);
  }

  Context& context_;
  const Combine combine_;
  const DType dtype_;
  const int64_t outer_, inner_;
  const bool by_tiles_;
  const DType index_;
  std::vector<Level> levels_;  // what comes before: of pieces, of blocks of pieces, …
  Level next_;
};

class ScanOp : public OpaqueOp {
 public:
  explicit ScanOp(Combine combine) : combine_(combine) {}
  std::string_view name() const override { return combine_ == Combine::Mul ? "cumprod" : "cumsum"; }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Storage& x = node.inputs[0].node->result;
    const hal::ScanDesc desc = desc_of(node);
    if (context.by_library(desc, {x.where, result.where})) return;
    scan(context, combine_, node.dtype, desc.lengths, x, result);
  }

  Candidates candidates(Context& context, const Node& node) const override {
    return context.candidates_of_bits(desc_of(node));
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
  Scan(context, combine, dtype, lengths, by_tiles).run(lengths[1], from, to);
  context.settle();
}

void scan(Context& context, Combine combine, DType dtype, const std::array<int64_t, 3>& lengths,
          const Storage& from, const Storage& to) {
  // A processor reads the piece of one lane best.
  const bool by_tiles = lengths[2] == 1 && !hints_of(context.device()).sequential_lanes;
  // Of rows of a piece, a group has some.
  if (by_tiles && is_integer(dtype) && lengths[1] > kPiece) {
    scan_by_groups(context, combine, dtype, lengths[0], lengths[1], from, to);
    return context.settle();
  }
  scan(context, combine, dtype, lengths, from, to, by_tiles);
}

std::unique_ptr<const OpaqueOp> scan_op(Combine combine) {
  return std::make_unique<ScanOp>(combine);
}

}  // namespace hologram::graph
