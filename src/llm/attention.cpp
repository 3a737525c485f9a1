#include "llm/attention.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"
#include "graph/opaque_op.hpp"
#include "hologram/nn/attention.hpp"
#include "hologram/ops.hpp"
#include "llm/attention_programs.hpp"
#include "llm/programs.hpp"
#include "tensor/access.hpp"

namespace hologram::llm {
namespace {

using graph::Context;
using graph::Node;
using graph::Storage;

uint32_t number_of(int64_t n) { return static_cast<uint32_t>(n); }

AttentionKey key_of(const AttentionShape& shape, int64_t m, int64_t capacity, const Node& cache) {
  AttentionKey key{};
  key.heads = number_of(shape.heads);
  key.key_heads = number_of(shape.key_heads);
  key.key_length = number_of(shape.key_length);
  key.value_length = number_of(shape.value_length);
  key.rotated = number_of(shape.rotated);
  key.rope = static_cast<uint32_t>(shape.rope);
  key.softcap = shape.softcap > 0;
  key.window = shape.window > 0;
  key.lanes = std::max<uint32_t>(256, std::bit_ceil(key.value_length));
  key.cache = cache.dtype;
  const int64_t longest = std::max(shape.key_length, shape.value_length);
  key.index = graph::Box::index_type(
      std::max(m * shape.heads * std::max(capacity, longest),
               std::max({cache.shape[0] * kPage, capacity, m}) * shape.key_heads * longest));
  return key;
}

// Of a sequence, to a part that a group attends to: so many groups for all heads, whatever the
// capacity, and scores that a group's memory holds.
constexpr int64_t kGroups = 1024, kLeastPages = 2, kMostPages = 32;
constexpr int64_t kMostRowsInParts = 2048, kManyTokens = 64;
uint32_t part_pages(int64_t capacity, int64_t rows) {
  const int64_t pages = capacity / kPage, parts = std::max<int64_t>(kGroups / rows, 1);
  return number_of(std::clamp((pages - 1) / parts + 1, kLeastPages, kMostPages));
}

uint64_t groups_of(int64_t lanes) {
  return (static_cast<uint64_t>(lanes) + kTurnLanes - 1) / kTurnLanes;
}

const Program& made(Context& context, AttentionStep step, const AttentionKey& key) {
  return context.kept(name_of(step), key, [&] { return attention_program(step, key); });
}

// The node is the turned queries; keys and values are put into the cache.
class TurnOp : public graph::OpaqueOp {
 public:
  TurnOp(const AttentionShape& shape, int64_t m, int64_t capacity)
      : shape_(shape), m_(m), capacity_(capacity) {}
  std::string_view name() const override { return "attention turn"; }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("a program");
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    enum : size_t { Queries, Keys, Values, Cosines, Sines, Places, KeyCache, ValueCache };
    const auto at = [&](size_t i) { return node.inputs[i].node->result.where; };
    AttentionKey key = key_of(shape_, m_, capacity_, *node.inputs[KeyCache].node);
    // Where tokens are as many as to occupy a GPU: where to read and write is found out once for
    // several heads.
    key.turned = m_ < kManyTokens ? 1 : 8;
    const auto scalar = [&](int64_t n) { return graph::index_bits(key.index, n); };
    const hal::Binding bindings[] = {at(Queries),  at(Keys),     at(Values),
                                     at(Cosines),  at(Sines),    at(Places),
                                     result.where, at(KeyCache), at(ValueCache)};
    const TurnedHeads at_once(key);
    const int64_t lanes = m_ * (at_once.query_lanes + at_once.key_lanes + at_once.value_lanes);
    std::vector<uint64_t> scalars = {scalar(capacity_), scalar(m_)};
    for (const size_t i : {Queries, Keys, Values}) {
      const graph::View rows = node.inputs[i].view();
      scalars.push_back(scalar(rows.offset));
      scalars.push_back(scalar(rows.strides[0]));
    }
    context.launch(made(context, AttentionStep::Turn, key), {groups_of(lanes), 1, 1}, bindings,
                   scalars);
  }

 private:
  const AttentionShape shape_;
  const int64_t m_, capacity_;
};

// The node is what a part sees of the cache, once the turned queries, its first input, are there.
class ReadOp : public graph::OpaqueOp {
 public:
  ReadOp(const AttentionShape& shape, int64_t m, int64_t capacity, const PromptPart& part,
         bool of_keys)
      : shape_(shape), m_(m), capacity_(capacity), part_(part), of_keys_(of_keys) {}
  std::string_view name() const override { return "attention read"; }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("a program");
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    AttentionKey key = key_of(shape_, m_, capacity_, *node.inputs[2].node);
    key.read = part_.dtype;
    const auto scalar = [&](int64_t n) { return graph::index_bits(key.index, n); };
    const Program& program =
        made(context, of_keys_ ? AttentionStep::ReadKeys : AttentionStep::ReadValues, key);
    const hal::Binding bindings[] = {node.inputs[2].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    const uint64_t scalars[] = {scalar(capacity_), scalar(m_), scalar(part_.keys),
                                scalar(part_.first + part_.count)};
    const int64_t length = of_keys_ ? shape_.key_length : shape_.value_length;
    context.launch(program, {groups_of(shape_.key_heads * part_.keys * length), 1, 1}, bindings,
                   scalars);
  }

 private:
  const AttentionShape shape_;
  const int64_t m_, capacity_;
  const PromptPart part_;
  const bool of_keys_;
};

// The node is the result, of turned queries.
class AttentionOp : public graph::OpaqueOp {
 public:
  AttentionOp(const AttentionShape& shape, int64_t m, int64_t capacity)
      : shape_(shape), m_(m), capacity_(capacity) {}
  std::string_view name() const override { return "attention"; }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("programs over the pages of the cache");
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    enum : size_t { Turned, Places, KeyCache, ValueCache };
    const auto at = [&](size_t i) { return node.inputs[i].node->result.where; };
    const AttentionKey key = key_of(shape_, m_, capacity_, *node.inputs[KeyCache].node);
    const auto scalar = [&](int64_t n) { return graph::index_bits(key.index, n); };
    const auto bytes = [](int64_t numbers) { return static_cast<uint64_t>(numbers) * 4; };

    const std::vector<uint64_t> attending = {scalar(capacity_), scalar(shape_.window),
                                             std::bit_cast<uint32_t>(shape_.scale),
                                             std::bit_cast<uint32_t>(shape_.softcap)};
    const auto run_program = [&](AttentionStep step, const Grid& grid,
                                 std::initializer_list<hal::Binding> bindings,
                                 const std::vector<uint64_t>& scalars) {
      context.launch(made(context, step, key), grid, {bindings.begin(), bindings.size()}, scalars);
    };
    const auto heads = static_cast<uint64_t>(shape_.heads), tokens = static_cast<uint64_t>(m_);
    const bool together = !graph::hints_of(context.device()).sequential_lanes;
    const int64_t rows = m_ * shape_.heads;
    const uint32_t pages = part_pages(capacity_, rows);
    int64_t parts = (capacity_ / kPage - 1) / pages + 1;
    if (parts > kPartsAtOnce) parts = (parts - 1) / kPartsAtOnce * kPartsAtOnce + kPartsAtOnce;
    // A group a head leaves most of a large GPU idle where tokens are few.
    if (together && !context.config().reproducible && parts > 1 && rows <= kMostRowsInParts) {
      AttentionKey of_parts = key;
      of_parts.part_pages = pages;
      of_parts.parts = number_of(parts);
      const Storage sums = context.allocate(bytes(rows * parts * shape_.value_length));
      const Storage ends = context.allocate(bytes(rows * parts * 2));
      const std::initializer_list<hal::Binding> bindings = {
          at(Turned), at(KeyCache), at(ValueCache), at(Places), sums.where, ends.where};
      context.launch(made(context, AttentionStep::AttendPart, of_parts),
                     {heads, static_cast<uint64_t>(parts), tokens},
                     {bindings.begin(), bindings.size()}, attending);
      const hal::Binding combined[] = {sums.where, ends.where, result.where};
      const uint64_t count[] = {scalar(rows)};
      return context.launch(made(context, AttentionStep::Combine, of_parts),
                            {groups_of(rows * shape_.value_length), 1, 1}, combined, count);
    }
    const Storage scores = context.allocate(bytes(rows * capacity_));
    // The same sums for all devices where that is asked for: those of lanes that work together.
    if (together || context.config().reproducible)
      return run_program(
          AttentionStep::Attend, {heads, tokens, 1},
          {at(Turned), at(KeyCache), at(ValueCache), at(Places), scores.where, result.where},
          attending);
    const Storage sums = context.allocate(bytes(m_ * shape_.heads));
    run_program(AttentionStep::Score, {groups_of(capacity_), heads, tokens},
                {at(Turned), at(KeyCache), at(Places), scores.where}, attending);
    std::vector<uint64_t> sharing = {scalar(m_)};
    sharing.insert(sharing.end(), attending.begin(), attending.end());
    run_program(AttentionStep::Share, {groups_of(m_ * shape_.heads), 1, 1},
                {at(Places), scores.where, sums.where}, sharing);
    run_program(AttentionStep::Weigh, {groups_of(shape_.value_length), heads, tokens},
                {scores.where, sums.where, at(ValueCache), at(Places), result.where}, attending);
  }

 private:
  const AttentionShape shape_;
  const int64_t m_, capacity_;
};

}  // namespace

Cache make_cache(const AttentionShape& shape, int64_t pages, DType dtype,
                 const Executor& executor) {
  Cache cache{ops::zeros({pages, shape.key_heads, shape.key_length, kPage}, dtype, executor),
              ops::zeros({pages, shape.key_heads, kPage, shape.value_length}, dtype, executor)};
  eval({cache.keys, cache.values});
  return cache;
}

Tensor attention(const AttentionShape& shape, const Tensor& queries, const Tensor& keys,
                 const Tensor& values, const Rope& rope, const Cache& cache, const Tensor& places,
                 int64_t capacity, const std::optional<PromptPart>& in_part) {
  const int64_t m = queries.size(0);
  const Tensor turned = tensor::make_opaque(
      std::make_unique<TurnOp>(shape, m, capacity), DType::F32, {m, shape.heads * shape.key_length},
      with_rows(queries), with_rows(keys), with_rows(values), rope.cosines, rope.sines, places,
      cache.keys, cache.values);
  if (!in_part)
    return tensor::make_opaque(std::make_unique<AttentionOp>(shape, m, capacity), DType::F32,
                               {m, shape.heads * shape.value_length}, turned, places, cache.keys,
                               cache.values);
  const PromptPart& part = *in_part;
  const auto seen = [&](bool of_keys) {
    const int64_t length = of_keys ? shape.key_length : shape.value_length;
    return tensor::make_opaque(std::make_unique<ReadOp>(shape, m, capacity, part, of_keys),
                               part.dtype, {1, shape.key_heads, part.keys, length}, turned, places,
                               of_keys ? cache.keys : cache.values);
  };
  nn::AttentionOptions options{.is_causal = true,
                               .scale = shape.scale,
                               .enable_gqa = shape.key_heads != shape.heads,
                               .softcap = shape.softcap,
                               .query_offset = part.first};
  if (shape.window > 0) options.window = nn::AttentionWindow{.before = shape.window - 1};
  const Tensor by_heads =
      turned.reshape({1, m, shape.heads, shape.key_length}).permute({0, 2, 1, 3}).to(part.dtype);
  return nn::scaled_dot_product_attention(by_heads, seen(true), seen(false), options)
      .permute({0, 2, 1, 3})
      .reshape({m, shape.heads * shape.value_length})
      .to(DType::F32);
}

}  // namespace hologram::llm
