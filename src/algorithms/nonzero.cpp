#include "algorithms/order.hpp"
#include "algorithms/sort_keys.hpp"
#include "core/messages.hpp"
#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Value;

struct PlacesKey {
  DType count, index;
  uint8_t axes;
};

Program places_program(const PlacesKey& key) {
  Builder b("places", {kBoxLanes}, key.index);
  const Buf flags = b.buffer("flags", DType::Bool, Access::In);
  const Buf counts = b.buffer("counts", key.count, Access::In);
  const Buf places = b.buffer("places", DType::I64, Access::Out);
  const Value n = b.scalar("n", key.index);
  std::vector<Value> lengths;
  lengths.reserve(key.axes);
  for (uint32_t k = 0; k < key.axes; k++)
    lengths.push_back(b.scalar("n" + std::to_string(k), key.index));
  const Value e = b.global_id(0);
  b.if_(e < n, [&] {
    b.if_(b.load(flags, e), [&] {
      const Value first = b.cast(b.load(counts, e) - 1, key.index) * int64_t{key.axes};
      Value rest = e;
      for (uint32_t k = key.axes; k-- > 0;) {
        const Value at = k == 0 ? rest : rest % lengths[k];
        b.store(places, first + k, b.cast(at, DType::I64));
        if (k > 0) rest = rest / lengths[k];
      }
    });
  });
  return b.finish();
}

class NonzeroOp : public OpaqueOp {
 public:
  explicit NonzeroOp(Shape shape) : shape_(std::move(shape)) {}
  std::string_view name() const override { return "places"; }
  Candidates candidates(Context& context, const Node& /*node*/) const override {
    return context.candidates_of_bits(hal::NonzeroDesc{shape_});
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node& flags = *node.inputs[0].node;
    if (node.inputs.size() == 1) {
      if (!context.by_library(hal::NonzeroDesc{shape_}, {flags.result.where, result.where}))
        throw core::error(core::Text::InternalError, "places lack what they are counted by");
      return;
    }
    const Node& counts = *node.inputs[1].node;
    const int64_t n = element_count(flags.shape);
    const auto axes = static_cast<uint8_t>(shape_.size());
    const PlacesKey key{counts.dtype, Box::index_type(n * std::max<int64_t>(1, axes)), axes};
    std::vector<int64_t> sizes = {n};
    sizes.insert(sizes.end(), shape_.begin(), shape_.end());
    launch_lanes(context, context.kept("places", key, [&] { return places_program(key); }),
                 key.index, n, sizes, {flags.result.where, counts.result.where, result.where});
  }

 private:
  const Shape shape_;
};

}  // namespace

bool needs_counts(Context& context, const Shape& shape) {
  return context.library_of(hal::NonzeroDesc{shape}) == nullptr;
}

std::unique_ptr<const OpaqueOp> nonzero_op(Shape shape) {
  return std::make_unique<NonzeroOp>(std::move(shape));
}

}  // namespace hologram::graph
