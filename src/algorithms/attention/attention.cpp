#include "algorithms/attention/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "algorithms/attention/programs.hpp"
#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"

namespace hologram::graph::attention {

namespace {

using Wanted = Attention::Wanted;

// A section of a node's memory, of so many elements of a dtype of its own.
hal::Binding section(const hal::Binding& all, DType of_node, int64_t begin, DType dtype,
                     int64_t elements) {
  return {all.buffer, all.offset + static_cast<uint64_t>(begin) * size_of(of_node),
          static_cast<uint64_t>(elements) * size_of(dtype)};
}

// As numbers to add, in rows that begin where a library takes them. The window is in the mask then.
void describe_mask(hal::AttentionDesc& desc, const View& mask, DType dtype) {
  constexpr int64_t kAccess = 16;
  desc.mask = dtype == DType::Bool ? desc.dtype : dtype;
  const int64_t unit = kAccess / static_cast<int64_t>(size_of(desc.mask));
  const int64_t step = (desc.keys + unit - 1) / unit * unit;
  const auto differs = [&](size_t axis) { return mask.shape[axis] > 1 && mask.strides[axis] != 0; };
  const int64_t of_head = desc.queries * step, heads = differs(1) ? desc.heads : 1;
  desc.mask_strides = {differs(0) ? heads * of_head : 0, differs(1) ? of_head : 0, step, 1};
  desc.before = desc.after = {};
}
int64_t mask_rows(const hal::AttentionDesc& desc) {
  return (desc.mask_strides[0] != 0 ? desc.batch : 1) *
         (desc.mask_strides[1] != 0 ? desc.heads : 1) * desc.queries;
}

// Of a result and its logs. Operands: queries, keys, values and, if there is one, the mask.
hal::AttentionDesc described(const Attention& attention, std::span<const View> operands,
                             DType dtype, DType mask) {
  const View &q = operands[0], &k = operands[1], &v = operands[2];
  hal::AttentionDesc desc;
  desc.part = hal::AttentionDesc::Part::ResultAndLogs;
  desc.dtype = dtype;
  desc.batch = q.shape[0], desc.heads = q.shape[1], desc.key_heads = k.shape[1];
  desc.queries = q.shape[2], desc.keys = k.shape[2];
  desc.features = q.shape[3], desc.value_features = v.shape[3];
  std::copy_n(q.strides.begin(), 4, desc.q_strides.begin());
  std::copy_n(k.strides.begin(), 4, desc.k_strides.begin());
  std::copy_n(v.strides.begin(), 4, desc.v_strides.begin());
  desc.alignment = kSectionBytes;
  desc.scale = attention.scale, desc.softcap = attention.softcap;
  desc.first = attention.first, desc.before = attention.before, desc.after = attention.after;
  if (attention.has_mask) describe_mask(desc, operands[3], mask);
  return desc;
}

class AttentionOp : public OpaqueOp {
 public:
  AttentionOp(const Attention& attention, Wanted wanted) : attention_(attention), wanted_(wanted) {}

  std::string_view name() const override {
    return is_backward() ? "attention_changes" : "attention";
  }
  Candidates candidates(Context& context, const Node& node) const override {
    constexpr const char* kPrograms = "programs that keep no scores";
    if (const std::string reason = why_not_asked(context); !reason.empty())
      return {{{}, reason, {}}, {kPrograms, {}, {}}};
    return context.candidates(desc_of(Operands(*this, node), kSectionBytes), kPrograms);
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const Operands x(*this, node);
    if (by_library(context, x, node, result.where)) return;
    if (is_backward()) changes(context, x, node, result.where);
    else forward(context, x, node, result.where);
  }

 private:
  bool is_backward() const { return wanted_ == Wanted::Changes; }
  bool keeps_wide(DType dtype) const {
    return attention_.keeps_wide && compute_type(dtype) != dtype && wanted_ != Wanted::Result;
  }

  struct Operands {
    Operands(const AttentionOp& work, const Node& node)
        : dtype(node.inputs[0].node->dtype), keeps_wide(work.keeps_wide(dtype)) {
      for (const Input& input : node.inputs) views.push_back(input.view());
      batch = views[0].shape[0], heads = views[0].shape[1], queries = views[0].shape[2];
      key_heads = views[1].shape[1], keys = views[1].shape[2];
      features = views[0].shape[3], value_features = views[2].shape[3];
      if (work.attention_.has_mask) {
        mask = work.is_backward() ? 5 : 3;
        mask_dtype = node.inputs[mask].node->dtype;
      }
    }
    std::vector<View> views;
    size_t mask = 0;
    DType mask_dtype = DType::None;
    int64_t batch, heads, key_heads, queries, keys, features, value_features;
    DType dtype;
    bool keeps_wide;
    int64_t rows() const { return batch * heads * queries; }
    int64_t key_rows() const { return batch * key_heads * keys; }
    Sections result_and_logs() const {
      return with_logs(dtype, rows() * value_features, rows(), keeps_wide);
    }
    // The result as wide as it is kept.
    hal::Binding kept_result(const hal::Binding& all) const {
      return section(all, dtype, result_and_logs().begins[2],
                     keeps_wide ? compute_type(dtype) : dtype, rows() * value_features);
    }
    hal::Binding result(const hal::Binding& all) const {
      return section(all, dtype, 0, dtype, rows() * value_features);
    }
    hal::Binding logs(const hal::Binding& all) const {
      return section(all, dtype, result_and_logs().begins[1], compute_type(dtype), rows());
    }
    // How queries, keys and values change.
    std::array<hal::Binding, 3> changes(const hal::Binding& all) const {
      const std::array<int64_t, 3> sizes = {rows() * features, key_rows() * features,
                                            key_rows() * value_features};
      const Sections s(dtype, {sizes[0], sizes[1], sizes[2]});
      std::array<hal::Binding, 3> parts;
      for (size_t i = 0; i < parts.size(); i++)
        parts[i] = section(all, dtype, s.begins[i], dtype, sizes[i]);
      return parts;
    }
  };

  // --- by a library
  // Why no library is asked; empty if one may be.
  std::string why_not_asked(const Context& context) const {
    if (context.library() == nullptr) return context.no_library().reason;
    if (attention_.has_sinks) return "a library takes no sinks";
    if (attention_.has_place) return "a library takes no place in a cache";
    if (attention_.keeps_wide) return "a library keeps no wide result";
    if (context.has_programs_alone()) return "a library knows no checks and no limit of time";
    return {};
  }

  hal::AttentionDesc desc_of(const Operands& x, uint32_t alignment) const {
    using Part = hal::AttentionDesc::Part;
    const std::array<View, 4> operands = {x.views[0], x.views[1], x.views[2],
                                          attention_.has_mask ? x.views[x.mask] : View()};
    hal::AttentionDesc desc = described(attention_, operands, x.dtype, x.mask_dtype);
    desc.part = is_backward()                      ? Part::Changes
                : wanted_ == Wanted::ResultAndLogs ? Part::ResultAndLogs
                                                   : Part::Result;
    if (is_backward()) std::copy_n(x.views[3].strides.begin(), 4, desc.change_strides.begin());
    desc.alignment = alignment;
    return desc;
  }

  bool by_library(Context& context, const Operands& x, const Node& node,
                  const hal::Binding& result) const {
    if (!why_not_asked(context).empty()) return false;
    std::vector<hal::Binding> operands;
    uint32_t alignment = kSectionBytes;
    for (size_t i = 0; i < (is_backward() ? 4 : 3); i++) {
      operands.push_back(node.inputs[i].where());
      alignment = std::min(alignment, hal::alignment_of(operands.back()));
    }
    if (is_backward()) {
      const hal::Binding both = node.inputs[4].node->result.where;
      operands.insert(operands.end(), {x.result(both), x.logs(both)});
      for (const hal::Binding& change : x.changes(result)) operands.push_back(change);
    } else {
      operands.push_back(x.result(result));
      if (wanted_ == Wanted::ResultAndLogs) operands.push_back(x.logs(result));
    }
    const hal::AttentionDesc desc = desc_of(x, alignment);
    auto planned = context.library()->plan(desc);
    if (const auto* refusal = std::get_if<hal::Refusal>(&planned)) {
      if (refusal->is_fallback) context.fall_back(name(), refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("attention by programs: {}", refusal->reason));
      return false;
    }
    const auto plan = std::get<std::shared_ptr<hal::LibraryPlan>>(std::move(planned));
    Storage mask, logs;
    if (attention_.has_mask) {
      mask = library_mask(context, x, node, desc);
      if (is_backward()) {
        hal::Binding& given = operands[5];
        logs = finite_logs(context, x, given);
        given = logs.where;
      }
      operands.insert(operands.begin() + 3, mask.where);
    }
    const Storage workspace =
        plan->workspace() > 0 ? context.allocate(plan->workspace()) : Storage{};
    context.call(plan, operands, workspace.where, work_of(x, is_backward() ? 2.5 : 1));
    return true;
  }

  Storage library_mask(Context& context, const Operands& x, const Node& node,
                       const hal::AttentionDesc& desc) const {
    const int64_t rows = mask_rows(desc), step = desc.mask_strides[2];
    Storage made = context.allocate(static_cast<uint64_t>(rows * step) * size_of(desc.mask));
    Key key{};
    key.before = attention_.before.has_value();
    key.after = attention_.after.has_value();
    key.mask = x.mask_dtype == DType::Bool ? Mask::Bool : Mask::Added;
    key.added = x.mask_dtype;
    key.result = desc.mask;
    key.wide = compute_type(x.dtype);
    // Rows are filled up, beyond what others count.
    key.index = key_of(x, node, Part::Forward).index;
    if (key.index == DType::I32) key.index = Box::index_type(rows * step);
    std::vector<uint64_t> arguments;
    const auto add = [&](int64_t n) { arguments.push_back(index_bits(key.index, n)); };
    for (const int64_t n :
         {rows, step, desc.mask_strides[1] != 0 ? x.heads : 1, x.queries, x.keys, attention_.first,
          attention_.before.value_or(0), attention_.after.value_or(0)})
      add(n);
    const View& view = x.views[x.mask];
    add(view.offset);
    for (const int64_t stride : view.strides) add(stride);
    const hal::Binding bindings[] = {node.inputs[x.mask].node->result.where, made.where};
    context.launch(context.kept("attention mask", key, [&] { return mask_program(key); }),
                   {(static_cast<uint64_t>(rows * step) + kMaskLanes - 1) / kMaskLanes, 1, 1},
                   bindings, arguments);
    return made;
  }

  Storage finite_logs(Context& context, const Operands& x, const hal::Binding& logs) const {
    Key key{};
    key.wide = compute_type(x.dtype);
    key.index = Box::index_type(x.rows());
    Storage made = context.allocate(static_cast<uint64_t>(x.rows()) * size_of(key.wide));
    const hal::Binding bindings[] = {logs, made.where};
    const uint64_t arguments[] = {index_bits(key.index, x.rows())};
    context.launch(context.kept("attention logs", key, [&] { return finite_logs_program(key); }),
                   {(static_cast<uint64_t>(x.rows()) + kMaskLanes - 1) / kMaskLanes, 1, 1},
                   bindings, arguments);
    return made;
  }

  // --- by programs
  void forward(Context& context, const Operands& x, const Node& node,
               const hal::Binding& result) const {
    const Key key = key_of(x, node, Part::Forward);
    std::vector<hal::Binding> bindings;
    for (const Input& input : node.inputs) bindings.push_back(input.node->result.where);
    std::vector<hal::Binding> results = {x.result(result)};
    if (key.with_logs) results.push_back(x.logs(result));
    if (key.with_logs && key.wide_result) results.push_back(x.kept_result(result));
    if (!key.split) {
      bindings.insert(bindings.end(), results.begin(), results.end());
      return launch(context, key, x, std::move(bindings));
    }
    const int64_t numbers = parts_of(x).count * x.rows() * (x.value_features + 2);
    const Storage parts = context.allocate(static_cast<uint64_t>(numbers) * size_of(key.wide));
    bindings.push_back(parts.where);
    launch(context, key, x, std::move(bindings));
    combine(context, key, x, node, parts.where, results);
  }

  void changes(Context& context, const Operands& x, const Node& node,
               const hal::Binding& result) const {
    const hal::Binding both = node.inputs[4].node->result.where;
    const Key of_query = key_of(x, node, Part::QueryChange),
              of_keys = key_of(x, node, Part::KeyChange);
    const Storage deltas =
        context.allocate(static_cast<uint64_t>(x.rows()) * size_of(of_query.wide));
    const hal::Binding change = node.inputs[3].node->result.where;
    std::vector<uint64_t> arguments;
    for (const int64_t n : {x.rows(), x.queries, x.heads, x.views[3].offset})
      arguments.push_back(index_bits(of_query.index, n));
    for (const int64_t s : x.views[3].strides) arguments.push_back(index_bits(of_query.index, s));
    const hal::Binding sums[] = {change, x.kept_result(both), deltas.where};
    context.launch(
        context.kept("attention deltas", of_query, [&] { return deltas_program(of_query); }),
        {(static_cast<uint64_t>(x.rows()) + kDeltaLanes - 1) / kDeltaLanes, 1, 1}, sums, arguments);
    std::vector<hal::Binding> bindings;
    for (size_t i = 0; i < 4; i++) bindings.push_back(node.inputs[i].node->result.where);
    bindings.insert(bindings.end(), {x.logs(both), deltas.where});
    for (size_t i = 5; i < node.inputs.size(); i++)
      bindings.push_back(node.inputs[i].node->result.where);
    const std::array<hal::Binding, 3> changed = x.changes(result);
    if (attention_.of_queries) {
      std::vector<hal::Binding> all = bindings;
      all.push_back(changed[0]);
      launch(context, of_query, x, std::move(all));
    }
    if (!attention_.of_keys) return;
    bindings.insert(bindings.end(), {changed[1], changed[2]});
    launch(context, of_keys, x, std::move(bindings));
  }

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

  Key key_of(const Operands& x, const Node& node, Part part) const {
    Key key{};
    key.part = part;
    key.with_logs = wanted_ == Wanted::ResultAndLogs;
    key.wide_result = x.keeps_wide;
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
    const int64_t states = key.split ? parts.count * x.rows() * x.value_features : 0;
    for (const int64_t n : {x.batch, x.heads, x.key_heads, x.queries, x.keys, attention_.first,
                            attention_.before.value_or(0), attention_.after.value_or(0), states})
      add(n);
    number(attention_.scale);
    number(attention_.softcap);
    const auto strides = [&](const View& view) {
      add(view.offset);
      for (const int64_t s : view.strides) add(s);
    };
    for (size_t k = 0; k < 3; k++) strides(x.views[k]);
    if (is_backward()) strides(x.views[3]);
    if (attention_.has_mask) strides(x.views[x.mask]);
    if (key.split) {
      add(parts.count);
      add(parts.length);
    }
    return all;
  }

  static bool takes_tiles(const DeviceInfo& device, const Key& key) {
    const Hints hints = hints_of(device);
    return !hints.sequential_lanes && device.max_lanes >= 256 &&
           shared_of(key.wide) <= static_cast<int64_t>(hints.shared_bytes) &&
           std::max(key.features, key.value_features) <= kMostFeatures;
  }
  // Rows of one key head, and how many tiles they make.
  static int64_t tiles_of_head(const Key& key, const Operands& x, int64_t rows_of_tile) {
    const int64_t rows = key.part == Part::KeyChange ? x.keys : x.heads / x.key_heads * x.queries;
    return (rows + rows_of_tile - 1) / rows_of_tile;
  }

  void launch(Context& context, const Key& key, const Operands& x,
              std::vector<hal::Binding> bindings) const {
    if (takes_tiles(context.device(), key)) by_tiles(context, key, x, bindings);
    else by_lanes(context, key, x, std::move(bindings));
  }

  void by_tiles(Context& context, const Key& key, const Operands& x,
                std::span<const hal::Binding> bindings) const {
    context.launch(context.kept("attention tiles", key, [&] { return tiles_program(key); }),
                   {static_cast<uint64_t>(tiles_of_head(key, x, kRows)),
                    static_cast<uint64_t>(x.batch * x.key_heads),
                    key.split ? static_cast<uint64_t>(parts_of(x).count) : 1},
                   bindings, scalars(key, x), work_of(x, products_of(key)));
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
                   {1, static_cast<uint64_t>(groups), 1}, bindings, arguments,
                   work_of(x, products_of(key)));
  }

  void combine(Context& context, const Key& key, const Operands& x, const Node& node,
               const hal::Binding& partial, std::span<const hal::Binding> results) const {
    std::vector<hal::Binding> bindings = {partial};
    if (key.sinks) bindings.push_back(node.inputs[attention_.has_mask ? 4 : 3].node->result.where);
    bindings.insert(bindings.end(), results.begin(), results.end());
    const int64_t parts = parts_of(x).count, numbers = x.rows() * x.value_features;
    std::vector<uint64_t> arguments;
    for (const int64_t n : {x.rows(), x.queries, x.heads, parts, parts * numbers})
      arguments.push_back(index_bits(key.index, n));
    const auto lanes = static_cast<uint64_t>(numbers);
    context.launch(context.kept("attention parts", key, [&] { return combine_program(key); }),
                   {(lanes + kCombineLanes - 1) / kCombineLanes, 1, 1}, bindings, arguments);
  }

  // How often as many products as those of all scores and of the result.
  static double products_of(const Key& key) {
    return key.part == Part::Forward ? 1 : key.part == Part::QueryChange ? 1.5 : 2;
  }
  static runtime::Work work_of(const Operands& x, double products) {
    const double pairs = static_cast<double>(x.rows()) * static_cast<double>(x.keys);
    const auto both = static_cast<double>(x.features + x.value_features);
    return {.bytes = 0, .flops = 2 * products * pairs * both};
  }

  const Attention attention_;
  const Wanted wanted_;
};

class SectionOp : public OpaqueOp {
 public:
  explicit SectionOp(int64_t begin) : begin_(begin) {}

  std::string_view name() const override { return "section"; }
  Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return only("a copy");
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const Node& all = *node.inputs[0].node;
    Storage part = all.result;
    part.where = section(part.where, all.dtype, begin_, node.dtype, element_count(node.shape));
    context.copy(result, part);
  }

 private:
  const int64_t begin_;
};

}  // namespace

std::unique_ptr<const OpaqueOp> attention_op(const Attention& attention, Wanted wanted) {
  return std::make_unique<AttentionOp>(attention, wanted);
}

bool has_library(Context& context, const Attention& attention, std::span<const View> operands,
                 DType dtype, DType mask) {
  if (attention.has_sinks || attention.has_place) return false;
  return context.library_of(described(attention, operands, dtype, mask)) != nullptr;
}

std::unique_ptr<const OpaqueOp> section_op(int64_t begin) {
  return std::make_unique<SectionOp>(begin);
}

}  // namespace hologram::graph::attention
