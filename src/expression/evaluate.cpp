#include "expression/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "expression/names.hpp"
#include "program/text/excerpt.hpp"
#include "tensor/access.hpp"

namespace hologram::expression {

using core::Text;

namespace {

// Whether the argument `axis` of a call names the first axis of its tensor.
bool over_first_axis(const Call& call) {
  const size_t at = call.position("axis");
  if (!call.given(at)) return true;
  const int rank = call.values()[0].tensor().rank();
  for (const int axis : call.axes(at).list)
    if (tensor::checked_axis(call.callable().name, axis, rank) == 0) return true;
  return false;
}

}  // namespace

Evaluator::Evaluator(const Syntax& syntax, const Executor& executor,
                     std::map<std::string, Value> inputs)
    : syntax_(syntax),
      executor_(executor),
      inputs_(std::move(inputs)),
      values_(syntax.nodes.size()) {}

void Evaluator::run() {
  for (uint32_t i = 0; i < syntax_.nodes.size(); i++) values_[i] = compute(i);
}

Value Evaluator::take(uint32_t node) {
  if (keep_) return values_[node];
  return std::exchange(values_[node], Value());
}

Value Evaluator::compute(uint32_t at) {
  try {
    return compute_unplaced(at);
  } catch (const Error& error) {
    const Node& node = syntax_.nodes[at];
    throw program::at_place(error, syntax_.text, syntax_.file, node.offset, node.length);
  }
}

Value Evaluator::compute_unplaced(uint32_t at) {
  const Node& node = syntax_.nodes[at];
  switch (node.kind) {
    case Kind::Number: return node.dtype == DType::F64 ? Value(node.real) : Value(node.integer);
    case Kind::String: return node.name;
    case Kind::Name: return name(node);
    case Kind::Compare: return compare(at, node);
    case Kind::Slice: return slice(node);
    case Kind::Dots: return Dots();
    case Kind::Index: return index(node);
    case Kind::Member: return member(node);
    case Kind::Assign: return take(node.children[0]);
    case Kind::Operator:
    case Kind::Call:
    case Kind::List: break;
  }
  std::vector<Value> values;
  for (const uint32_t child : node.children) values.push_back(take(child));
  if (node.kind != Kind::List) return apply(at, node.name, std::move(values), node.words);
  const uint32_t level = level_of(values);
  Value list(std::move(values));
  list.level = level;
  return list;
}

Value Evaluator::name(const Node& node) const {
  if (node.definition != kAbsent) return values_[node.definition];
  if (const auto given = inputs_.find(node.name); given != inputs_.end()) return given->second;
  if (!reserved(node.name).empty()) return constant(node.name);
  std::vector<std::string_view> known;
  for (const Assigned& a : syntax_.assigned) known.push_back(a.name);
  for (const auto& [name, value] : inputs_) known.push_back(name);
  const std::string_view near = core::nearest(node.name, known);
  throw core::error(Text::ExpressionInput, node.name,
                    near.empty() ? std::string() : fmt::format(" Did you mean {}?", near));
}

Value Evaluator::across_rows(uint32_t, const Call&) { return {}; }
void Evaluator::refuse_rows(const std::string& why) const {
  throw core::error(Text::ExpressionByRows, why, (bytes_by_rows() >> 20) + 1);
}

// Brings operands of an elementwise operation to the rows that are there.
void Evaluator::align(std::vector<Value>& values) const {
  size_t rank = 0;
  for (const Value& v : values)
    if (v.is_tensor()) rank = std::max(rank, v.tensor().shape().size());
  int64_t rows = -1;
  Shape shape;
  for (Value& v : values) {
    if (!v.is_tensor()) continue;
    shape = tensor::broadcast_shape("broadcast", shape, v.shape());
    if (!v.by_rows()) continue;
    if (v.tensor().shape().size() == rank) {
      rows = v.rows;
    } else if (v.whole.defined()) {
      v = Value(v.whole);
    } else {
      refuse_rows("its first axis is repeated along another tensor's");
    }
  }
  if (rows < 0) return;
  if (shape[0] != rows) refuse_rows("one row is repeated");
  for (Value& v : values)
    if (v.is_tensor() && !v.by_rows() && v.tensor().shape().size() == rank && v.shape()[0] != 1)
      v.is = Operand(rows_of(v.tensor()));
}

Value Evaluator::apply(uint32_t at, const std::string& function, std::vector<Value> arguments,
                       const std::vector<std::string>& words) {
  const uint32_t level = level_of(arguments);
  const bool some = any_rows(arguments);
  const Callable callable = find_callable(function);
  if (callable.name.empty()) throw core::error(Text::ExpressionFunction, function, "");
  Call call(callable, std::move(arguments), words, executor_);
  int64_t rows = -1;
  if (some) {
    const auto needs_all = [&] { refuse_rows(fmt::format("{} needs all rows at once", function)); };
    for (const Value& v : call.values())
      if (v.list() != nullptr && any_rows(*v.list())) needs_all();
    const Along along = call.callable().along();
    if (along == Along::Each) align(call.values());
    for (size_t i = 0; i < call.values().size(); i++) {
      const Value& v = call.values()[i];
      if (!v.by_rows()) continue;
      if (i > 0 && along != Along::Each) needs_all();
      rows = v.rows;
    }
    if (along == Along::All || along == Along::Nothing) needs_all();
    if (along == Along::Left && (call.tensor(0).rank() < 2 || call.tensor(1).rank() > 2))
      needs_all();
    if (along == Along::Images && call.tensor(0).rank() != 4) needs_all();
    if ((along == Along::Axis || along == Along::Reduced) && over_first_axis(call)) {
      const Function& f = *call.callable().function;
      if (f.merge == Merge::None)
        refuse_rows(fmt::format("{} over the first axis needs all rows at once", function));
      return across_rows(at, call);
    }
  }
  return marked(call.run(), rows, level);
}

Value Evaluator::compare(uint32_t at, const Node& node) {
  Value result;
  for (size_t k = 0; k < node.words.size(); k++) {
    Value one =
        apply(at, node.words[k], {values_[node.children[k]], values_[node.children[k + 1]]}, {});
    result = k == 0 ? std::move(one) : apply(at, "logical_and", {std::move(result), one}, {});
  }
  if (!keep_)
    for (const uint32_t child : node.children) values_[child] = Value();
  return result;
}

Value Evaluator::slice(const Node& node) {
  Slice part;
  uint32_t level = 0;
  const auto number = [&](size_t k) -> std::optional<int64_t> {
    const Value v = node.children[k] == kAbsent ? Value() : take(node.children[k]);
    level = std::max(level, v.level);
    if (v.nothing()) return std::nullopt;
    if (!v.is_number() || !is_integer(v.operand()->kind()))
      throw core::error(Text::ExpressionIndex, describe(v));
    // Beyond every axis, wherever it stands.
    return v.operand()->kind() == DType::U64 ? INT64_MAX : v.operand()->integer();
  };
  part.begin = number(0);
  part.end = number(1);
  part.step = number(2).value_or(1);
  return marked(part, -1, level);
}

Value Evaluator::member(const Node& node) {
  const Value of = take(node.children[0]);
  static constexpr std::string_view kMembers[] = {"T", "shape", "rank", "size", "dtype"};
  if (!of.is_tensor() ||
      std::find(std::begin(kMembers), std::end(kMembers), node.name) == std::end(kMembers)) {
    const std::string_view near = core::nearest(node.name, kMembers);
    throw core::error(Text::ExpressionMember, describe(of), node.name,
                      near.empty() ? std::string() : fmt::format(" Did you mean {}?", near));
  }
  // Sizes may follow from values, as those of what a mask leaves.
  const Shape shape = of.shape();
  if (node.name == "rank") return shape.size();
  if (node.name == "size") return marked(graph::element_count(shape), -1, of.level);
  if (node.name == "dtype")
    return of.weak ? tensor::with_number(DType::None, of.tensor().dtype()) : of.tensor().dtype();
  if (node.name == "shape")
    return marked(std::vector<Value>(shape.begin(), shape.end()), -1, of.level);
  if (of.by_rows() && shape.size() > 1) refuse_rows("T needs all rows at once");
  std::vector<int> axes(shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  Value result(of.tensor().permute(axes));
  result.rows = of.rows;
  result.level = of.level;
  result.weak = of.weak;
  return result;
}

}  // namespace hologram::expression
