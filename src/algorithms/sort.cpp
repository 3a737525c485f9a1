// Sorted rows (algorithms/sort_rows.hpp) and places in them.
#include <algorithm>
#include <bit>

#include "algorithms/order.hpp"
#include "algorithms/sort_rows.hpp"
#include "engine/context.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Value;
using program::Var;

// Of elements or of positions: what is sorted is the result.
class SortOp : public OpaqueOp {
 public:
  SortOp(bool descending, Form result) : descending_(descending), form_(result) {}
  std::string_view name() const override { return form_ == Form::Elements ? "sort" : "argsort"; }
  Candidates candidates(Context& context, const Node& node) const override {
    return context.candidates_of_bits(desc_of(node));
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
    if (fits_a_group(context, key, length))
      return sort_by_groups(context, key, rows, length, length, x, result.where);
    sort_by_digits(context, key, rows, length, x, result);
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

  const bool descending_;
  const Form form_;
};

struct SearchKey {
  DType element, index;
  bool right;
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
      const Value precedes = (b.get(count) > 0) & (key.right ? other <= mine : other < mine);
      b.set(first, select(precedes, middle + 1, b.get(first)));
      b.set(count, select(precedes, b.get(count) - half - 1, half));
    });
    b.store(positions, i, b.cast(b.get(first), DType::I64));
  });
  return b.finish();
}

class SearchOp : public OpaqueOp {
 public:
  explicit SearchOp(bool right) : right_(right) {}
  std::string_view name() const override { return "searchsorted"; }
  Candidates candidates(Context& context, const Node& node) const override {
    return context.candidates_of_bits(desc_of(node));
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node &sorted = *node.inputs[0].node, &values = *node.inputs[1].node;
    const int64_t n = element_count(node.shape), length = element_count(sorted.shape);
    if (context.by_library(desc_of(node), {sorted.result.where, values.result.where, result.where}))
      return;
    SearchKey key{sorted.dtype, Box::index_type(std::max(n, length)), right_};
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
            .right = right_,
            .count = element_count(node.shape),
            .length = element_count(sorted.shape)};
  }

  const bool right_;
};

}  // namespace

void argsort(Context& context, DType dtype, int64_t count, const hal::Binding& x,
             const Storage& positions) {
  const SortKey key{dtype, Box::index_type(count), false, 0, Form::Elements, Form::Positions};
  SortOp::sort_rows(context, key, 1, count, x, positions);
}

std::unique_ptr<const OpaqueOp> sort_op(bool descending) {
  return std::make_unique<SortOp>(descending, Form::Elements);
}
std::unique_ptr<const OpaqueOp> argsort_op(bool descending) {
  return std::make_unique<SortOp>(descending, Form::Positions);
}
std::unique_ptr<const OpaqueOp> search_op(bool right) { return std::make_unique<SearchOp>(right); }

}  // namespace hologram::graph
