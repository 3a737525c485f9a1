#include "algorithms/index.hpp"

#include <algorithm>

#include "algorithms/order.hpp"
#include "algorithms/sort_keys.hpp"
#include "core/messages.hpp"
#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"

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
  bool alone;     // a workgroup is one lane
  uint8_t items;  // elements of a lane of a gather, as far apart as a workgroup has lanes
  uint32_t lanes() const { return alone ? 1 : kBoxLanes; }
};
// Of a gather where lanes go at a time: each waits for a position first, and for its element then.
constexpr uint8_t kItemsOfLane = 4;
// Of a scatter that has so few lanes, each is a workgroup, which a processor takes for a plain
// loop.
constexpr int64_t kFewLanes = 2;

// Of a scatter whose values are sorted by where they go: how many units there are for each of its
// count positions. A unit is a row of values where the positions are the same for all that lies
// inside, else a value.
int64_t width_of(const hal::IndexDesc& desc) { return desc.strides[2] == 0 ? desc.lengths[2] : 1; }
int64_t sorted_of(const hal::IndexDesc& desc) {
  return desc.lengths[0] * desc.lengths[2] / std::max<int64_t>(1, width_of(desc));
}

// Where lanes do not go in turns, a lane that takes many positions one after the other, 0.2 us for
// each, takes longer than sorting them all does, 0.1 ms and 0.3 ns for each; which takes memory.
bool is_worth_sorting(const DeviceInfo& device, const hal::IndexDesc& desc) {
  constexpr int64_t kManyPositions = 512, kMostOfEach = 256, kBytesOfEach = 32;
  const int64_t of_each = sorted_of(desc), all = desc.lengths[1] * of_each;
  const uint64_t memory = device.total_memory > 0 ? device.total_memory : uint64_t{2} << 30;
  return !hints_of(device).sequential_lanes && desc.lengths[1] >= kManyPositions &&
         of_each <= kMostOfEach && static_cast<uint64_t>(all) * kBytesOfEach <= memory / 8;
}

// Rows that are taken whole are moved by the widest elements they consist of.
DType moved_as(const hal::IndexDesc& desc, std::initializer_list<hal::Binding> memory) {
  const auto size = static_cast<uint64_t>(size_of(desc.dtype));
  if (desc.strides[2] != 0) return desc.dtype;
  for (const DType wide : {DType::U64, DType::U32, DType::U16}) {
    const auto divides = [&](uint64_t bytes) { return bytes % size_of(wide) == 0; };
    if (size_of(wide) > size && divides(static_cast<uint64_t>(desc.lengths[2]) * size) &&
        std::all_of(memory.begin(), memory.end(),
                    [&](const hal::Binding& where) { return divides(where.offset); }))
      return wide;
  }
  return desc.dtype;
}

// What all have in common: x and the result are [outer, length or count, inner].
class Maker {
 public:
  Maker(const char* name, const IndexKey& key) : key_(key), b_(name, {key.lanes()}, key.index) {}

  Program gather() {
    const Buf x = b_.buffer("x", key_.element, Access::In);
    declare();
    const Buf y = b_.buffer("y", key_.element, Access::Out);
    scalars();
    const auto nth = [&](auto item) {
      const Value tile = b_.group_id(0) * int64_t{key_.lanes() * key_.items};
      return place(b_, key_.lanes_axis, lengths_,
                   tile + item * int64_t{key_.lanes()} + b_.lane_id(0));
    };
    const auto move = [&](const std::vector<Place>& to) {
      std::vector<Position> from;
      from.reserve(to.size());
      for (const Place& p : to) from.push_back(read(p.at[0], p.at[1], p.at[2]));
      report(from);
      std::vector<Value> elements;
      elements.reserve(to.size());
      for (size_t k = 0; k < to.size(); k++)
        elements.push_back(b_.load(x, element(to[k].at[0], from[k].at, to[k].at[2])));
      for (size_t k = 0; k < to.size(); k++) {
        const auto& [o, j, i] = to[k].at;
        b_.store(y, (o * lengths_[1] + j) * lengths_[2] + i, elements[k]);
      }
    };
    const Builder::Block each_item = [&] {
      b_.for_(number(0), number(key_.items), 1, [&](Value item) {
        const Place p = nth(item);
        b_.if_(p.inside, [&] { move({p}); });
      });
    };
    std::vector<Place> places;
    places.reserve(key_.items);
    for (int64_t item = 0; item < key_.items; item++) places.push_back(nth(item));
    const auto all = [&] { move(places); };
    b_.if_(places.back().inside, all, key_.items > 1 ? each_item : Builder::Block());
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
      b_.for_(number(0), count_, 1, [&](Value j) {
        const Value to = element(o, position(o, j, i), i);
        const Value v = b_.load(values, (o * count_ + j) * lengths_[2] + i);
        b_.store(y, to, key_.add ? b_.load(y, to) + v : v);
      });
    });
    return b_.finish();
  }

 private:
  Value number(int64_t n) { return b_.constant(key_.index, n); }
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
  struct Position {
    Value is_there, at;
  };
  Position read(Value o, Value j, Value i) {
    const Value at = start_ + o * strides_[0] + j * strides_[1] + i * strides_[2];
    const Value given = b_.cast(b_.load(positions_, at), DType::I64);
    const Value length = b_.cast(length_, DType::I64);
    const Value from_start = select(given < 0, given + length, given);
    const Value is_there = (from_start >= 0) & (from_start < length);
    return {is_there, b_.cast(select(is_there, from_start, -1), key_.index)};
  }
  void report(const std::vector<Position>& positions) {
    Value all = positions[0].is_there;
    for (size_t k = 1; k < positions.size(); k++) all = all & positions[k].is_there;
    b_.if_(!all, [&] {
      b_.atomic(Combine::Max, wrong_, number(0), b_.constant(DType::U32, int64_t{1}));
    });
  }
  Value position(Value o, Value j, Value i) {
    const Position found = read(o, j, i);
    report({found});
    return found.at;
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

// Targets and values of units in that order, so that lanes read what lies together.
Program in_order_program(const IndexKey& key, DType target) {
  Builder b("scatter_in_order", {kBoxLanes}, key.index);
  const Buf values = b.buffer("values", key.element, Access::In);
  const Buf targets = b.buffer("targets", target, Access::In);
  const Buf order = b.buffer("order", DType::I64, Access::In);
  const Buf sorted_values = b.buffer("sorted_values", key.element, Access::Out);
  const Buf sorted_targets = b.buffer("sorted_targets", target, Access::Out);
  const Value n = b.scalar("n", key.index), width = b.scalar("width", key.index);
  const Value e = b.global_id(0);
  b.if_(e < n, [&] {
    const Value unit = e / width, inside = e % width;
    const Value from = b.cast(b.load(order, unit), key.index);
    b.store(sorted_values, e, b.load(values, from * width + inside));
    b.if_(inside == 0, [&] { b.store(sorted_targets, unit, b.load(targets, from)); });
  });
  return b.finish();
}

// A lane for each value, in the order of their targets: the last of a target stays, or the first
// adds them all, one after the other.
Program together_program(const IndexKey& key, DType target) {
  Builder b("scatter_together", {kBoxLanes}, key.index);
  const Buf values = b.buffer("values", key.element, Access::In);
  const Buf targets = b.buffer("targets", target, Access::In);
  const Buf y = b.buffer("y", key.element, Access::InOut);
  const Value n = b.scalar("n", key.index), width = b.scalar("width", key.index);
  const Value units = b.scalar("units", key.index), places = b.scalar("places", key.index);
  const Value e = b.global_id(0), unit = e / width, inside = e % width;
  b.if_(e < n, [&] {
    const Value mine = b.load(targets, unit), place = b.cast(mine, key.index);
    const Value to = place * width + inside;
    const auto goes_there = [&](Value at) { return b.load(targets, at) == mine; };
    const auto value_at = [&](Value at) { return b.load(values, at * width + inside); };
    const Value neighbour = key.add ? max(unit - 1, 0) : min(unit + 1, units - 1);
    const Value is_mine = (neighbour == unit) | !goes_there(neighbour);
    b.if_(is_mine & (place < places), [&] {
      if (!key.add) return b.store(y, to, value_at(unit));
      // Behind the last of them: the target is that of `within`, not that of `behind`.
      const Var within = b.var(unit), behind = b.var(unit + 1);
      b.while_([&] { return (b.get(behind) < units) & goes_there(min(b.get(behind), units - 1)); },
               [&] {
                 b.set(within, b.get(behind));
                 b.set(behind, min(b.get(behind) + (b.get(behind) - unit), units));
               });
      b.while_([&] { return b.get(behind) - b.get(within) > 1; },
               [&] {
                 const Value middle = b.get(within) + (b.get(behind) - b.get(within)) / 2;
                 const Value is_within = goes_there(middle);
                 b.set(within, select(is_within, middle, b.get(within)));
                 b.set(behind, select(is_within, b.get(behind), middle));
               });
      const Value last = b.get(behind);
      if (size_of(key.element) < 4) {  // each sum is rounded
        b.for_(unit, last, 1, [&](Value at) { b.store(y, to, b.load(y, to) + value_at(at)); });
        return;
      }
      const Var sum = b.var(b.load(y, to));
      constexpr uint32_t kAtOnce = 8;  // values that are on their way
      b.for_(unit, last, kAtOnce, [&](Value at) {
        std::array<Value, kAtOnce> some;
        for (uint32_t k = 0; k < kAtOnce; k++) some[k] = value_at(at + k);
        Value now = b.get(sum);
        for (uint32_t k = 0; k < kAtOnce; k++) now = select(at + k < last, now + some[k], now);
        b.set(sum, now);
      });
      b.store(y, to, b.get(sum));
    });
  });
  return b.finish();
}

class IndexOp : public OpaqueOp {
 public:
  IndexOp(std::string_view operation, bool scatter, bool add)
      : operation_(operation), scatter_(scatter), add_(add) {}
  std::string_view name() const override { return operation_; }
  bool updates() const override { return scatter_; }
  Candidates candidates(Context& context, const Node& node) const override {
    return context.candidates_of_bits(desc_of(node));
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Input &x = node.inputs[0], &positions = node.inputs[1];
    const View of_x = x.view(), of_positions = positions.view();
    const Storage wrong = context.allocate(sizeof(uint32_t));
    context.fill(wrong, 0);
    if (scatter_) context.copy(result, x.node->result);
    hal::Binding first = node.inputs[scatter_ ? 2 : 0].where();
    if (!scatter_)
      first.size = static_cast<uint64_t>(element_count(of_x.shape)) * size_of(x.node->dtype);
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
    const hal::IndexDesc desc = desc_of(node);
    if (scatter_ && is_worth_sorting(context.device(), desc))
      return scatter_sorted(context, desc, {first, positions.node->result.where, wrong, result});
    const DType element = scatter_ ? node.dtype : moved_as(desc, {first, result});
    const auto ours = static_cast<int64_t>(size_of(node.dtype)),
               wide = static_cast<int64_t>(size_of(element));
    const int64_t inner = node.shape[2] * ours / wide;
    const bool sequential_lanes = hints_of(context.device()).sequential_lanes;
    const Box box{{node.shape[0], scatter_ ? 1 : count, inner}, sequential_lanes};
    const int64_t most =
        std::max(element_count(x.node->shape),
                 std::max(element_count(positions.node->shape),
                          node.shape[0] * std::max(node.shape[1], count) * node.shape[2]));
    IndexKey key{};
    key.element = element;
    key.position = positions.node->dtype;
    key.index = Box::index_type(most);
    key.lanes_axis = static_cast<int8_t>(box.lanes_axis());
    key.scatter = scatter_;
    key.add = add_;
    key.alone = scatter_ && box.lanes() <= kFewLanes;
    key.items = scatter_ || sequential_lanes ? 1 : kItemsOfLane;
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
    context.launch(program, box.grid(key.lanes() * key.items), bindings, scalars);
  }

  const std::string operation_;
  const bool scatter_, add_;
};

}  // namespace

void scatter_sorted(Context& context, const hal::IndexDesc& desc,
                    const std::array<hal::Binding, 4>& memory) {
  const auto& [values, positions, wrong, result] = memory;
  const auto [outer, count, inner] = desc.lengths;
  const int64_t width = width_of(desc), of_unit = inner / width;
  const int64_t units = outer * count * of_unit, n = units * width;
  const int64_t places = outer * desc.length * of_unit;
  int64_t reach = desc.start + 1;  // into positions
  for (size_t k = 0; k < 3; k++)
    reach += std::max<int64_t>(desc.strides[k], 0) * (desc.lengths[k] - 1);
  struct Key {
    IndexKey index{};
    DType target;
  } key;
  key.index.element = desc.dtype;
  key.index.position = desc.position;
  key.index.index = Box::index_type(std::max({n, 2 * units, places * width, reach}));
  key.index.scatter = true;
  key.index.add = desc.what == hal::IndexDesc::What::Add;
  key.target = places < UINT32_MAX ? DType::U32 : DType::U64;
  const DType index = key.index.index;

  const auto room = [&](DType type, int64_t elements) {
    return context.allocate(static_cast<uint64_t>(elements) * size_of(type));
  };
  const Storage targets = room(key.target, units), order = room(DType::I64, units);
  launch_lanes(
      context,
      context.kept("scatter targets", key,
                   [&] { return Maker("scatter_targets", key.index).targets(key.target); }),
      index, units,
      {outer, count, of_unit, desc.length, count, desc.strides[0], desc.strides[1], desc.strides[2],
       desc.start},
      {positions, wrong, targets.where});
  argsort(context, key.target, units, targets.where, order);
  const Storage sorted_values = room(desc.dtype, n), sorted_targets = room(key.target, units);
  launch_lanes(context,
               context.kept("scatter in order", key,
                            [&] { return in_order_program(key.index, key.target); }),
               index, n, {n, width},
               {values, targets.where, order.where, sorted_values.where, sorted_targets.where});
  launch_lanes(context,
               context.kept("scatter together", key,
                            [&] { return together_program(key.index, key.target); }),
               index, n, {n, width, units, places},
               {sorted_values.where, sorted_targets.where, result});
}

std::unique_ptr<const OpaqueOp> gather_op(std::string_view operation) {
  return std::make_unique<IndexOp>(operation, false, false);
}
std::unique_ptr<const OpaqueOp> scatter_op(std::string_view operation, bool add) {
  return std::make_unique<IndexOp>(operation, true, add);
}

}  // namespace hologram::graph
