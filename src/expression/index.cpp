// x[1:, ::-1, none, ..., 3]
#include <algorithm>

#include "core/messages.hpp"
#include "expression/evaluate.hpp"
#include "hologram/indexing.hpp"

namespace hologram::expression {
namespace {

using core::Text;

int64_t whole_number(const Value& v) {
  if (!v.is_number() || v.operand()->kind() != DType::I64)
    throw core::error(Text::ExpressionIndex, describe(v));
  return v.operand()->integer();
}

bool is_dots(const Value& v) { return std::holds_alternative<Dots>(v.is); }
bool is_whole_axis(const Value& v) {
  const Slice* const s = std::get_if<Slice>(&v.is);
  return s != nullptr && !s->begin && !s->end && s->step == 1;
}

Value of_list(const std::vector<Value>& list, const std::vector<Value>& parts) {
  const auto n = static_cast<int64_t>(list.size());
  if (parts.size() != 1) throw core::error(Text::ExpressionIndexCount, parts.size(), n);
  const int64_t given = whole_number(parts[0]), at = given < 0 ? given + n : given;
  if (at < 0 || at >= n) throw core::error(Text::IndexRange, given, 0, n);
  return list[static_cast<size_t>(at)];
}

bool is_array(const Value& v) { return v.is_tensor() || v.list() != nullptr; }
Tensor array_of(const Value& v, const Tensor& t) {
  const Tensor index = to_tensor(v, t.executor());
  // An empty list has no dtype of its own.
  return v.list() != nullptr && index.size() == 0 ? index.to(DType::I64) : index;
}
size_t axes_of(const Value& v) {
  const bool mask = v.has_dtype() && v.tensor().dtype() == DType::Bool;
  return mask ? v.tensor().shape().size() : 1;
}

// Slices at once; numbers beside tensors or lists are indices like these.
Tensor of_tensor(Tensor t, const std::vector<Value>& parts) {
  size_t used = 0, dots = 0;
  for (const Value& v : parts) {
    if (is_dots(v)) dots++;
    else if (!v.nothing()) used += axes_of(v);
  }
  const bool arrays = std::any_of(parts.begin(), parts.end(), is_array);
  ops::Indices indices;
  if (dots > 1 || used > t.shape().size())
    throw core::error(Text::ExpressionIndexCount, parts.size(), to_string(t.shape()));
  const size_t skipped = t.shape().size() - used;
  size_t axis = 0;
  for (const Value& v : parts) {
    const size_t first = axis;
    if (is_dots(v)) axis += skipped;
    else if (v.nothing()) t = t.unsqueeze(static_cast<int>(axis++));
    else if (const Slice* part = std::get_if<Slice>(&v.is))
      t = t.slice(static_cast<int>(axis++), *part);
    else if (!arrays) t = t.select(static_cast<int>(axis), whole_number(v));
    else axis += axes_of(v);
    if (!arrays) continue;
    const bool chosen = is_array(v) || v.is_number();
    if (chosen) indices.emplace_back(array_of(v, t));
    else indices.resize(indices.size() + (axis - first));
  }
  return arrays ? ops::index(t, indices) : t;
}

// Whether the first axis stays as it is.
bool keeps_rows(const Value& of, const std::vector<Value>& parts) {
  if (is_whole_axis(parts[0])) return true;
  const auto used = std::count_if(parts.begin(), parts.end(),
                                  [](const Value& v) { return !is_dots(v) && !v.nothing(); });
  return is_dots(parts[0]) && static_cast<size_t>(used) < of.tensor().shape().size();
}

bool has_one_array(const std::vector<Value>& parts) {
  return std::count_if(parts.begin(), parts.end(),
                       [](const Value& v) { return is_array(v) || v.is_number(); }) == 1;
}

}  // namespace

Value Evaluator::index(const Node& node) {
  const Value of = take(node.children[0]);
  std::vector<Value> parts;
  for (size_t k = 1; k < node.children.size(); k++) parts.push_back(take(node.children[k]));
  if (of.list() != nullptr) return of_list(*of.list(), parts);
  if (!of.is_tensor()) throw core::error(Text::ExpressionIndexed, describe(of));
  Value result;
  // A table is looked up row by row.
  const bool looks_up = !of.by_rows() && parts[0].by_rows() && has_one_array(parts) &&
                        parts[0].tensor().dtype() != DType::Bool;
  if (any_rows(parts) && !looks_up)
    refuse_rows("indices by rows look up the first axis of a whole tensor only");
  if (!of.by_rows() || keeps_rows(of, parts)) {
    result = of_tensor(of.tensor(), parts);
    result.rows = looks_up ? parts[0].rows : of.rows;
    result.level = std::max(of.level, level_of(parts));
    result.weak = of.weak;
    return result;
  }
  // Some rows of a file can be had without the others.
  if (of.whole.defined()) {
    const Tensor some = of_tensor(of.whole, parts);
    if (small(some)) return marked(some, -1, level_of(parts));
  }
  refuse_rows("the index takes the first axis apart");
}

}  // namespace hologram::expression
