#include "graph/attention/work.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "graph/attention/programs.hpp"
#include "graph/box.hpp"
#include "graph/context.hpp"
#include "graph/layout.hpp"

namespace hologram::graph::attention {

namespace {

using Wanted = Attention::Wanted;

class AttentionWork : public Work {
 public:
  AttentionWork(const Attention& attention, Wanted wanted)
      : attention_(attention), wanted_(wanted) {}

  std::string_view name() const override {
    return wanted_ == Wanted::QueryChange ? "attention_query_change"
           : wanted_ == Wanted::KeyChange ? "attention_key_change"
                                          : "attention";
  }
  std::string done_by(Context& /*context*/, const Node& /*node*/) const override {
    return "by programs that keep no scores";
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Operands x(*this, node);
    const Key key = key_of(x, node);
    std::vector<hal::Binding> bindings;
    for (const Input& input : node.inputs) bindings.push_back(input.node->result.where);
    Storage parts;
    if (key.split) {
      const int64_t numbers = parts_of(x).count * x.rows() * (x.value_features + 2);
      parts = context.allocate(static_cast<uint64_t>(numbers) * size_of(key.wide));
    }
    bindings.push_back(key.split ? parts.where : result.where);
    if (takes_tiles(context.device(), key)) by_tiles(context, key, x, bindings);
    else by_lanes(context, key, x, std::move(bindings));
    if (key.split) combine(context, key, x, node, {parts.where, result.where});
  }

 private:
  bool is_backward() const {
    return wanted_ == Wanted::QueryChange || wanted_ == Wanted::KeyChange;
  }

  struct Operands {
    Operands(const AttentionWork& work, const Node& node) {
      for (const Input& input : node.inputs) views.push_back(input.view());
      batch = views[0].shape[0], heads = views[0].shape[1], queries = views[0].shape[2];
      key_heads = views[1].shape[1], keys = views[1].shape[2];
      features = views[0].shape[3], value_features = views[2].shape[3];
      const size_t last = work.is_backward() ? 6 : 3;
      if (work.attention_.has_mask) mask = last;
    }
    std::vector<View> views;
    size_t mask = 0;
    int64_t batch, heads, key_heads, queries, keys, features, value_features;
    int64_t rows() const { return batch * heads * queries; }
  };

  // Of the keys, where a device would have few rows to work at: as many as have something to do, of
  // so many keys that the second step is little. Shapes alone decide, as that changes the bits.
  struct Parts {
    int64_t count, length;
  };
  static Parts parts_of(const Operands& x) {
    constexpr int64_t kFewTiles = 32, kManyGroups = 512, kFewestKeys = 256;
    const int64_t rows = x.heads / x.key_heads * x.queries;
    const int64_t tiles = x.batch * x.key_heads * ((rows + kRows - 1) / kRows);
    if (tiles > kFewTiles) return {1, x.keys};
    const int64_t wanted = std::min(kManyGroups / tiles, x.keys / kFewestKeys);
    if (wanted < 2) return {1, x.keys};
    const int64_t length = ((x.keys + wanted - 1) / wanted + kBlock - 1) / kBlock * kBlock;
    return {(x.keys + length - 1) / length, length};
  }

  Key key_of(const Operands& x, const Node& node) const {
    Key key{};
    key.part = wanted_ == Wanted::QueryChange ? Part::QueryChange
               : wanted_ == Wanted::KeyChange ? Part::KeyChange
                                              : Part::Forward;
    key.with_logs = wanted_ == Wanted::ResultAndLogs;
    key.split = key.part == Part::Forward && parts_of(x).count > 1;
    key.softcap = attention_.softcap > 0;
    key.before = attention_.before.has_value();
    key.after = attention_.after.has_value();
    key.sinks = attention_.has_sinks && !is_backward();
    const auto dtype = [&](size_t i) { return node.inputs[i].node->dtype; };
    if (attention_.has_mask) {
      key.added = dtype(x.mask);
      key.mask = key.added == DType::Bool ? Mask::Bool : Mask::Added;
    }
    key.placed = attention_.has_place;
    if (key.placed) key.position = dtype(node.inputs.size() - 1);
    const auto unit = [&](size_t i) { return x.views[i].strides[3] == 1; };
    key.query = dtype(0), key.unit_query = unit(0);
    key.key = dtype(1), key.unit_key = unit(1);
    key.value = dtype(2), key.unit_value = unit(2);
    if (is_backward()) key.change = dtype(3), key.unit_change = unit(3);
    key.result = node.dtype;
    key.wide = compute_type(key.query);
    key.features = static_cast<uint32_t>(x.features);
    key.value_features = static_cast<uint32_t>(x.value_features);
    int64_t most = element_count(node.shape);
    for (const Input& input : node.inputs) most = std::max(most, element_count(input.node->shape));
    const auto far = [](int64_t n) { return n < 0 ? -n : n; };
    const int64_t places = x.heads * x.queries + x.keys + far(attention_.first) +
                           far(attention_.before.value_or(0)) + far(attention_.after.value_or(0));
    const Parts parts = parts_of(x);
    if (key.split) most = std::max(most, parts.count * x.rows() * (x.value_features + 2));
    key.index = Box::index_type(std::max(most, places + parts.length));
    return key;
  }

  // In the order of Terms::declare.
  std::vector<uint64_t> scalars(const Key& key, const Operands& x) const {
    std::vector<uint64_t> all;
    const auto add = [&](int64_t n) { all.push_back(index_bits(key.index, n)); };
    const auto number = [&](double n) {
      all.push_back(key.wide == DType::F64 ? std::bit_cast<uint64_t>(n)
                                           : std::bit_cast<uint32_t>(static_cast<float>(n)));
    };
    const Parts parts = parts_of(x);
    const int64_t second = wanted_ == Wanted::KeyChange
                               ? x.batch * x.key_heads * x.keys * x.features
                               : (key.split ? parts.count : 1) * x.rows() * x.value_features;
    for (const int64_t n : {x.batch, x.heads, x.key_heads, x.queries, x.keys, attention_.first,
                            attention_.before.value_or(0), attention_.after.value_or(0), second})
      add(n);
    number(attention_.scale);
    number(attention_.softcap);
    const auto strides = [&](const View& view) {
      add(view.offset);
      for (const int64_t s : view.strides) add(s);
    };
    for (size_t k = 0; k < 3; k++) strides(x.views[k]);
    if (is_backward()) {
      strides(x.views[3]);
      add(x.views[4].offset);
      add(x.views[5].offset);
    }
    if (attention_.has_mask) strides(x.views[x.mask]);
    if (key.split) {
      add(parts.count);
      add(parts.length);
    }
    return all;
  }

  static bool takes_tiles(const DeviceInfo& device, const Key& key) {
    const Hints hints = hints_of(device);
    return !hints.in_turns && device.max_lanes >= 256 &&
           shared_of(key.wide) <= static_cast<int64_t>(hints.shared_bytes) &&
           std::max(key.features, key.value_features) <= kMostFeatures;
  }
  // Rows of one key head, and how many tiles they make.
  static int64_t tiles_of_head(const Key& key, const Operands& x, int64_t rows_of_tile) {
    const int64_t rows = key.part == Part::KeyChange ? x.keys : x.heads / x.key_heads * x.queries;
    return (rows + rows_of_tile - 1) / rows_of_tile;
  }

  void by_tiles(Context& context, const Key& key, const Operands& x,
                std::span<const hal::Binding> bindings) const {
    context.launch(context.kept("attention tiles", key, [&] { return tiles_program(key); }),
                   {static_cast<uint64_t>(tiles_of_head(key, x, kRows)),
                    static_cast<uint64_t>(x.batch * x.key_heads),
                    key.split ? static_cast<uint64_t>(parts_of(x).count) : 1},
                   bindings, scalars(key, x), work_of(x));
  }

  void by_lanes(Context& context, const Key& key, const Operands& x,
                std::vector<hal::Binding> bindings) const {
    const int64_t of_head = tiles_of_head(key, x, kLanes);
    const int64_t tiles = x.batch * x.key_heads * of_head * (key.split ? parts_of(x).count : 1);
    constexpr int64_t kGroupsOfUnit = 16;
    const int64_t groups =
        std::min(tiles, kGroupsOfUnit * std::max<int64_t>(1, context.device().compute_units));
    const Storage scratch =
        context.allocate(static_cast<uint64_t>(groups * scratch_of(key)) * size_of(key.wide));
    bindings.push_back(scratch.where);
    std::vector<uint64_t> arguments = scalars(key, x);
    arguments.push_back(index_bits(key.index, of_head));
    arguments.push_back(index_bits(key.index, tiles));
    context.launch(context.kept("attention lanes", key, [&] { return lanes_program(key); }),
                   {1, static_cast<uint64_t>(groups), 1}, bindings, arguments, work_of(x));
  }

  void combine(Context& context, const Key& key, const Operands& x, const Node& node,
               const std::array<hal::Binding, 2>& memory) const {
    std::vector<hal::Binding> bindings = {memory[0]};
    if (key.sinks) bindings.push_back(node.inputs[attention_.has_mask ? 4 : 3].node->result.where);
    bindings.push_back(memory[1]);
    const int64_t parts = parts_of(x).count, numbers = x.rows() * x.value_features;
    std::vector<uint64_t> arguments;
    for (const int64_t n : {x.rows(), x.queries, x.heads, parts, parts * numbers, numbers})
      arguments.push_back(index_bits(key.index, n));
    const auto lanes = static_cast<uint64_t>(numbers);
    context.launch(context.kept("attention parts", key, [&] { return combine_program(key); }),
                   {(lanes + kCombineLanes - 1) / kCombineLanes, 1, 1}, bindings, arguments);
  }

  runtime::Work work_of(const Operands& x) const {
    const double pairs = static_cast<double>(x.rows()) * static_cast<double>(x.keys);
    const auto both = static_cast<double>(x.features + x.value_features);
    const double products = wanted_ == Wanted::QueryChange ? 1.5 : is_backward() ? 2 : 1;
    return {.bytes = 0, .flops = 2 * products * pairs * both};
  }

  const Attention attention_;
  const Wanted wanted_;
};

}  // namespace

std::unique_ptr<const Work> attention_work(const Attention& attention, Wanted wanted) {
  return std::make_unique<AttentionWork>(attention, wanted);
}

}  // namespace hologram::graph::attention
