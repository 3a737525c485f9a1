#include "algorithms/part.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;

struct Key {
  DType element, position, index;
  int8_t lanes_axis;
};

// A lane for each value. Numbers are computed in 64 bits until they are known to lie inside.
Program put_at_program(const Key& key) {
  Builder b("put_at", {kBoxLanes}, key.index);
  const Buf values = b.buffer("values", key.element, Access::In);
  const Buf at = b.buffer("at", key.position, Access::In);
  const Buf wrong = b.buffer("wrong", DType::U32, Access::Atomic);
  const Buf y = b.buffer("y", key.element, Access::InOut);
  std::array<Value, 3> lengths;  // of values
  for (size_t k = 0; k < 3; k++) lengths[k] = b.scalar("n" + std::to_string(k), key.index);
  const Value length = b.scalar("length", key.index);
  const Value zero = b.constant(key.index, int64_t{0});
  const Value given = b.cast(b.load(at, zero), DType::I64);
  const Value whole = b.cast(length, DType::I64), count = b.cast(lengths[1], DType::I64);
  const Value start = select(given < 0, given + whole, given);
  const Value fits = (start >= 0) & (start <= whole - count);
  const Place p = place(b, key.lanes_axis, lengths);
  b.if_(p.inside, [&] {
    b.if_(
        fits,
        [&] {
          const auto& [o, j, i] = p.at;
          const Value to = (o * length + b.cast(start, key.index) + j) * lengths[2] + i;
          b.store(y, to, b.load(values, (o * lengths[1] + j) * lengths[2] + i));
        },
        [&] { b.atomic(Combine::Max, wrong, zero, b.constant(DType::U32, int64_t{1})); });
  });
  return b.finish();
}

class PutAt : public OpaqueOp {
 public:
  explicit PutAt(std::string_view operation) : operation_(operation) {}
  std::string_view name() const override { return operation_; }
  bool updates() const override { return true; }
  Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return only("a program");
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node &x = *node.inputs[0].node, &at = *node.inputs[1].node,
               &values = *node.inputs[2].node;
    context.copy(result, x.result);
    const View part = node.inputs[2].view();
    if (element_count(part.shape) == 0) return;
    const Storage wrong = context.allocate(sizeof(uint32_t));
    context.fill(wrong, 0);
    const Box box{{part.shape[0], part.shape[1], part.shape[2]},
                  hints_of(context.device()).sequential_lanes};
    Key key{};
    key.element = node.dtype;
    key.position = at.dtype;
    key.index = Box::index_type(element_count(node.shape));
    key.lanes_axis = static_cast<int8_t>(box.lanes_axis());
    const Program& program = context.kept("put at", key, [&] { return put_at_program(key); });
    std::vector<uint64_t> scalars;
    for (const int64_t n : {box.lengths[0], box.lengths[1], box.lengths[2], node.shape[1]})
      scalars.push_back(index_bits(key.index, n));
    const hal::Binding bindings[] = {values.result.where, node.inputs[1].where(), wrong.where,
                                     result.where};
    context.launch(program, box.grid(), bindings, scalars);
    context.check(wrong, [operation = operation_, length = node.shape[1]] {
      return core::error(core::Text::PositionRange, operation, length);
    });
  }

 private:
  const std::string operation_;
};

}  // namespace

std::unique_ptr<const OpaqueOp> put_at_op(std::string_view operation) {
  return std::make_unique<PutAt>(operation);
}

}  // namespace hologram::graph
