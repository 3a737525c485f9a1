#include "graph/index_works.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "graph/box.hpp"
#include "graph/context.hpp"
#include "graph/layout.hpp"
#include "graph/order_works.hpp"
#include "graph/sort_keys.hpp"

namespace hologram::graph {
namespace {

using core::Text;
using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;

struct IndexKey {
  DType element, position, index;
  int8_t lanes_axis;
  bool scatter, add;
  bool alone;  // a workgroup is one lane
  uint32_t lanes() const { return alone ? 1 : kBoxLanes; }
};
// Of a scatter that has so few lanes, each is a workgroup, which a processor takes for a plain
// loop.
constexpr int64_t kFewLanes = 2;

// Where lanes do not go in turns, so few take longer over so many positions, 0.2 us for each, than
// it takes to sort them all (on an H100: 0.4 ms, and 2 ns for each).
constexpr int64_t kFewForThreads = 32, kWorthSorting = 4096;

// What all have in common: x and the result are [outer, length or count, inner].
class Maker {
 public:
  Maker(const char* name, const IndexKey& key) : key_(key), b_(name, {key.lanes()}, key.index) {}

  Program gather() {
    const Buf x = b_.buffer("x", key_.element, Access::In);
    declare();
    const Buf y = b_.buffer("y", key_.element, Access::Out);
    scalars();
    const Place p = place(b_, key_.lanes_axis, lengths_);
    b_.if_(p.inside, [&] {
      const Value o = p.at[0], j = p.at[1], i = p.at[2];
      const Value from = position(o, j, i);
      b_.store(y, (o * lengths_[1] + j) * lengths_[2] + i, b_.load(x, element(o, from, i)));
    });
    return b_.finish();
  }

  // Which element of the result each of the values goes to; behind the last one for none.
  Program targets(DType target) {
    declare();
    const Buf y = b_.buffer("targets", target, Access::Out);
    scalars();
    const Value e = b_.global_id(0), i = e % lengths_[2], rest = e / lengths_[2];
    b_.if_(rest < lengths_[0] * count_, [&] {
      const Value o = rest / count_, at = element(o, position(o, rest % count_, i), i);
      const Value none = lengths_[0] * length_ * lengths_[2];
      b_.store(y, e, b_.cast(select(at < 0, none, at), target));
    });
    return b_.finish();
  }

  // A lane takes all positions of its place, one after the other.
  Program scatter() {
    const Buf values = b_.buffer("values", key_.element, Access::In);
    declare();
    const Buf y = b_.buffer("y", key_.element, Access::InOut);
    scalars();
    const Place p = place(b_, key_.lanes_axis, lengths_);
    b_.if_(p.inside, [&] {
      const Value o = p.at[0], i = p.at[2];
      b_.for_(b_.constant(key_.index, int64_t{0}), count_, 1, [&](Value j) {
        const Value to = element(o, position(o, j, i), i);
        const Value v = b_.load(values, (o * count_ + j) * lengths_[2] + i);
        b_.store(y, to, key_.add ? b_.load(y, to) + v : v);
      });
    });
    return b_.finish();
  }

 private:
  void declare() {
    positions_ = b_.buffer("positions", key_.position, Access::In);
    wrong_ = b_.buffer("wrong", DType::U32, Access::Atomic);
  }
  void scalars() {
    for (size_t k = 0; k < 3; k++) lengths_[k] = b_.scalar("n" + std::to_string(k), key_.index);
    length_ = b_.scalar("length", key_.index);
    count_ = b_.scalar("count", key_.index);
    for (size_t k = 0; k < 3; k++) strides_[k] = b_.scalar("s" + std::to_string(k), key_.index);
    start_ = b_.scalar("start", key_.index);
  }
  // The position read at a place, or -1 if it is none.
  Value position(Value o, Value j, Value i) {
    const Value at = start_ + o * strides_[0] + j * strides_[1] + i * strides_[2];
    const Value given = b_.cast(b_.load(positions_, at), DType::I64);
    const Value length = b_.cast(length_, DType::I64);
    const Value from_start = select(given < 0, given + length, given);
    const Value is_there = (from_start >= 0) & (from_start < length);
    b_.if_(!is_there, [&] {
      b_.atomic(Combine::Max, wrong_, b_.constant(key_.index, int64_t{0}),
                b_.constant(DType::U32, int64_t{1}));
    });
    return b_.cast(select(is_there, from_start, -1), key_.index);
  }
  Value element(Value o, Value at, Value i) {
    return select(at < 0, at, (o * length_ + at) * lengths_[2] + i);
  }

  IndexKey key_;
  Builder b_;
  Buf positions_{}, wrong_{};
  std::array<Value, 3> lengths_, strides_;
  Value length_, count_, start_;
};

// A lane for each value, in the order of their targets: the first of a target takes them all, one
// after the other.
Program together_program(const IndexKey& key, DType target) {
  Builder b("scatter_together", {kBoxLanes}, key.index);
  const Buf values = b.buffer("values", key.element, Access::In);
  const Buf targets = b.buffer("targets", target, Access::In);
  const Buf order = b.buffer("order", DType::I64, Access::In);
  const Buf y = b.buffer("y", key.element, Access::InOut);
  const Value n = b.scalar("n", key.index), places = b.scalar("places", key.index);
  const Value first = b.global_id(0);
  const auto from = [&](Value at) { return b.cast(b.load(order, at), key.index); };
  const auto target_at = [&](Value at) { return b.load(targets, from(at)); };
  b.if_(first < n, [&] {
    const Value mine = target_at(first), to = b.cast(mine, key.index);
    const Value is_first = (first == 0) | (target_at(max(first - 1, 0)) != mine);
    b.if_(is_first & (to < places), [&] {
      const Var at = b.var(first);
      b.while_([&] { return (b.get(at) < n) & (target_at(b.get(at)) == mine); },
               [&] {
                 const Value v = b.load(values, from(b.get(at)));
                 b.store(y, to, key.add ? b.load(y, to) + v : v);
                 b.set(at, b.get(at) + 1);
               });
    });
  });
  return b.finish();
}

class IndexWork : public Work {
 public:
  IndexWork(std::string_view operation, bool scatter, bool add)
      : operation_(operation), scatter_(scatter), add_(add) {}
  std::string_view name() const override { return operation_; }
  std::string done_by(Context& context, const Node& node) const override {
    return context.done_by(desc_of(node));
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Input &x = node.inputs[0], &positions = node.inputs[1];
    const View of_x = x.view(), of_positions = positions.view();
    const Storage wrong = context.allocate(sizeof(uint32_t));
    context.fill(wrong, 0);
    if (scatter_) context.copy(result, x.node->result);
    const hal::Binding first = scatter_ ? node.inputs[2].node->result.where : x.node->result.where;
    if (of_positions.shape[1] > 0 &&
        !context.by_library(desc_of(node),
                            {first, positions.node->result.where, wrong.where, result.where}))
      by_program(context, node, first, wrong.where, result.where);
    context.check(wrong, [operation = operation_, length = of_x.shape[1]] {
      return core::error(Text::PositionRange, operation, length);
    });
  }

 private:
  hal::IndexDesc desc_of(const Node& node) const {
    using What = hal::IndexDesc::What;
    const View where = node.inputs[1].view();
    return {.what = !scatter_ ? What::Gather
                    : add_    ? What::Add
                              : What::Put,
            .dtype = node.dtype,
            .position = node.inputs[1].node->dtype,
            .lengths = {node.shape[0], where.shape[1], node.shape[2]},
            .length = node.inputs[0].view().shape[1],
            .strides = {where.strides[0], where.strides[1], where.strides[2]},
            .start = where.offset};
  }

  void by_program(Context& context, const Node& node, const hal::Binding& first,
                  const hal::Binding& wrong, const hal::Binding& result) const {
    const Input &x = node.inputs[0], &positions = node.inputs[1];
    const View of_x = x.view(), of_positions = positions.view();
    const int64_t count = of_positions.shape[1];
    if (scatter_ && !hints_of(context.device()).in_turns && count >= kWorthSorting &&
        node.shape[0] * node.shape[2] <= kFewForThreads)
      return scatter_sorted(context, desc_of(node),
                            {first, positions.node->result.where, wrong, result});
    Box box{{node.shape[0], scatter_ ? 1 : count, node.shape[2]}};
    const int64_t most =
        std::max(element_count(x.node->shape),
                 std::max(element_count(positions.node->shape),
                          node.shape[0] * std::max(node.shape[1], count) * node.shape[2]));
    IndexKey key{};
    key.element = node.dtype;
    key.position = positions.node->dtype;
    key.index = Box::index_type(most);
    key.lanes_axis = static_cast<int8_t>(box.lanes_axis());
    key.scatter = scatter_;
    key.add = add_;
    key.alone = scatter_ && box.lengths[static_cast<size_t>(box.lanes_axis())] <= kFewLanes;
    const Program& program = context.kept("index", key, [&] {
      Maker maker(scatter_ ? "scatter" : "gather", key);
      return scatter_ ? maker.scatter() : maker.gather();
    });

    std::vector<uint64_t> scalars;
    for (const int64_t n : {box.lengths[0], box.lengths[1], box.lengths[2], of_x.shape[1], count,
                            of_positions.strides[0], of_positions.strides[1],
                            of_positions.strides[2], of_positions.offset})
      scalars.push_back(index_bits(key.index, n));
    const hal::Binding bindings[] = {first, positions.node->result.where, wrong, result};
    context.launch(program, box.grid(key.lanes()), bindings, scalars);
  }

  const std::string operation_;
  const bool scatter_, add_;
};

}  // namespace

void scatter_sorted(Context& context, const hal::IndexDesc& desc,
                    const std::array<hal::Binding, 4>& memory) {
  const auto& [values, positions, wrong, result] = memory;
  const auto [outer, count, inner] = desc.lengths;
  const int64_t n = outer * count * inner, places = outer * desc.length * inner;
  int64_t reach = desc.start + 1;  // into positions
  for (size_t k = 0; k < 3; k++)
    reach += std::max<int64_t>(desc.strides[k], 0) * (desc.lengths[k] - 1);
  struct Key {
    IndexKey index{};
    DType target;
  } key;
  key.index.element = desc.dtype;
  key.index.position = desc.position;
  key.index.index = Box::index_type(std::max({n, places, reach}));
  key.index.scatter = true;
  key.index.add = desc.what == hal::IndexDesc::What::Add;
  key.target = places < UINT32_MAX ? DType::U32 : DType::U64;
  const DType index = key.index.index;

  const auto room = [&](DType type) {
    return context.allocate(static_cast<uint64_t>(n) * size_of(type));
  };
  const Storage targets = room(key.target), order = room(DType::I64);
  launch_lanes(
      context,
      context.kept("scatter targets", key,
                   [&] { return Maker("scatter_targets", key.index).targets(key.target); }),
      index, n,
      {outer, count, inner, desc.length, count, desc.strides[0], desc.strides[1], desc.strides[2],
       desc.start},
      {positions, wrong, targets.where});
  argsort(context, key.target, n, targets.where, order);
  launch_lanes(context,
               context.kept("scatter together", key,
                            [&] { return together_program(key.index, key.target); }),
               index, n, {n, places}, {values, targets.where, order.where, result});
}

std::unique_ptr<const Work> gather_work(std::string_view operation) {
  return std::make_unique<IndexWork>(operation, false, false);
}
std::unique_ptr<const Work> scatter_work(std::string_view operation, bool add) {
  return std::make_unique<IndexWork>(operation, true, add);
}

}  // namespace hologram::graph
