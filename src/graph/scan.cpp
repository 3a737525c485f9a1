#include "graph/scan.hpp"

#include <algorithm>

#include "graph/box.hpp"
#include "graph/context.hpp"
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
    const DType t = compute_type(key.dtype);
    const Value nothing = b.constant(t, int64_t{key.combine == Combine::Mul ? 1 : 0});
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
      const Value v = b.load(x, at), now = b.get(sum);
      b.set(sum, key.combine == Combine::Mul ? now * v : now + v);
      if (!key.totals) b.store(y, at, b.get(sum));
    });
    if (key.totals) b.store(y, total_at(piece), b.get(sum));
  });
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

void scan(Context& context, Combine combine, DType dtype, const std::array<int64_t, 3>& lengths,
          const Storage& from, const Storage& to) {
  const auto [outer, length, inner] = lengths;
  const int64_t pieces = (length + kPiece - 1) / kPiece;
  const Box box{{outer, pieces, inner}};
  ScanKey key{dtype, Box::index_type(outer * std::max(length, pieces * kPiece) * inner), combine,
              static_cast<int8_t>(box.lanes_axis()), false};
  std::vector<uint64_t> scalars;
  for (const int64_t n : {outer, pieces, inner, length})
    scalars.push_back(index_bits(key.index, n));
  const auto launch = [&](bool totals, const Storage& before, const Storage& into) {
    key.totals = totals;
    const hal::Binding bindings[] = {from.where, before.where, into.where};
    context.launch(context.kept("scan", key, [&] { return piece_program(key); }), box.grid(),
                   bindings, scalars);
  };
  const Storage none = context.allocate(0);
  if (pieces <= 1) return launch(false, none, to);
  const uint64_t bytes = static_cast<uint64_t>(outer * pieces * inner) * size_of(dtype);
  const Storage totals = context.allocate(bytes), before = context.allocate(bytes);
  launch(true, none, totals);
  scan(context, combine, dtype, {outer, pieces, inner}, totals, before);
  launch(false, before, to);
  context.settle();
}

std::unique_ptr<const Work> scan_work(Combine combine) {
  return std::make_unique<ScanWork>(combine);
}

}  // namespace hologram::graph
