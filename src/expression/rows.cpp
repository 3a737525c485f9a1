#include "expression/rows.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::expression {
namespace {

using core::Text;

// Longer pieces are no faster, and need more memory.
constexpr uint64_t kLongestPiece = uint64_t{64} << 20;
constexpr int64_t kTrialRows = 2;

uint64_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<uint64_t>(graph::element_count(shape)) * size_of(dtype);
}

}  // namespace

ByRows::ByRows(const Syntax& syntax, const Executor& executor, std::map<std::string, Value> inputs,
               const std::map<std::string, RowSource>& sources, const std::vector<Assigned>& wanted,
               const Expression::RowSink& sink, const Expression::RowOptions& options)
    : Evaluator(syntax, executor, std::move(inputs)),
      sources_(sources),
      wanted_(wanted),
      sink_(sink),
      options_(options),
      plan_(syntax.nodes.size()) {
  keep_ = true;
  for (const auto& [name, source] : sources) {
    const int64_t rows = source.shape.empty() ? 0 : source.shape[0];
    if (rows == 0 || (total_ != 0 && rows != total_))
      throw core::error(Text::ExpressionSources, name, to_string(source.shape));
    total_ = rows;
  }
  if (sources.empty()) throw core::error(Text::ExpressionSources, "", "[]");
}

Expression::RowReport ByRows::run() {
  mark_live();
  try_out();
  choose_length();
  trial_ = false;
  for (uint32_t level = 0; level < passes_; level++) pass(level);
  if (passes_ > 0) settle(passes_);
  for (const Assigned& output : wanted_)
    if (!plan_[output.node].by_rows) hand_over(output);
  report_.passes = passes_;
  return report_;
}

// What the wanted outputs are made of.
void ByRows::mark_live() {
  for (const Assigned& output : wanted_) plan_[output.node].live = true;
  for (size_t i = plan_.size(); i-- > 0;) {
    if (!plan_[i].live) continue;
    const Node& node = syntax_.nodes[i];
    for (const uint32_t child : node.children)
      if (child != kAbsent) plan_[child].live = true;
    if (node.definition != kAbsent) plan_[node.definition].live = true;
  }
}

// Nothing is computed here: tensors are lazy.
void ByRows::try_out() {
  load(0, std::min(total_, kTrialRows));
  bool last_writes = false;
  for (uint32_t i = 0; i < plan_.size(); i++) {
    if (!plan_[i].live) continue;
    values_[i] = compute(i);
    plan_[i].by_rows = values_[i].by_rows();
    plan_[i].level = values_[i].level;
    if (plan_[i].reduction) passes_ = std::max(passes_, plan_[i].level);
  }
  for (const Assigned& output : wanted_) {
    const Plan& p = plan_[output.node];
    if (!p.by_rows) continue;
    last_writes = true;
    passes_ = std::max(passes_, p.level + 1);
  }
  // Rows that nobody wants need not be read.
  const bool reduces = std::any_of(plan_.begin(), plan_.end(),
                                   [](const Plan& p) { return p.reduction.has_value(); });
  if (!last_writes && !reduces) passes_ = 0;
}

void ByRows::choose_length() {
  uint64_t row = 0;
  for (const auto& [name, source] : sources_)
    row += bytes_of(source.dtype, source.shape) / static_cast<uint64_t>(total_);
  for (const Assigned& output : wanted_)
    if (plan_[output.node].by_rows)
      row += bytes_of(values_[output.node].tensor().dtype(), values_[output.node].shape()) /
             static_cast<uint64_t>(total_);
  row = std::max<uint64_t>(1, row);
  if (row > options_.bytes) throw core::error(Text::ExpressionRow, row, options_.bytes);
  const uint64_t rows = std::max<uint64_t>(1, std::min(options_.bytes / 4, kLongestPiece) / row);
  length_ = static_cast<int64_t>(std::min(rows, static_cast<uint64_t>(total_)));
}

void ByRows::load(int64_t first, int64_t count) {
  first_ = first;
  count_ = count;
  for (const auto& [name, source] : sources_) {
    Value value(Tensor::from(source.read(first, count), executor_));
    value.rows = total_;
    if (source.whole.dtype() != DType::None) value.whole = Tensor::from(source.whole, executor_);
    inputs_[name] = std::move(value);
  }
}

// What follows from the reductions so far; what follows from none is there since the trial.
void ByRows::settle(uint32_t level) {
  for (uint32_t i = 0; i < plan_.size(); i++)
    if (Plan& p = plan_[i]; p.live && !p.by_rows && p.level == level) {
      values_[i] = p.reduction ? Value(p.reduction->finished()) : compute(i);
      values_[i].level = level;
    }
}

void ByRows::pass(uint32_t level) {
  if (level > 0) settle(level);
  for (int64_t first = 0; first < total_; first += length_) {
    load(first, std::min(length_, total_ - first));
    piece(level);
    report_.pieces++;
    if (options_.progress)
      options_.progress(
          (level + static_cast<double>(first_ + count_) / static_cast<double>(total_)) / passes_);
  }
}

void ByRows::piece(uint32_t level) {
  std::vector<Tensor> work;
  for (uint32_t i = 0; i < plan_.size(); i++) {
    Plan& p = plan_[i];
    if (!p.live) continue;
    if (p.by_rows && p.level <= level) values_[i] = compute(i);
    if (!p.reduction || p.level != level + 1) continue;
    compute(i);
    const std::vector<Tensor>& parts = p.reduction->parts();
    work.insert(work.end(), parts.begin(), parts.end());
  }
  for (const Assigned& output : wanted_)
    if (plan_[output.node].by_rows && plan_[output.node].level == level)
      work.push_back(values_[output.node].tensor());
  eval(work);
  for (Plan& p : plan_)
    if (p.live && p.reduction && p.level == level + 1) p.reduction->add();
  for (const Assigned& output : wanted_)
    if (plan_[output.node].by_rows && plan_[output.node].level == level) hand_over(output);
  // Before the next rows are read, these are let go.
  for (uint32_t i = 0; i < plan_.size(); i++)
    if (plan_[i].by_rows) values_[i] = Value();
  for (const auto& [name, source] : sources_) inputs_[name] = Value();
}

void ByRows::hand_over(const Assigned& output) {
  Value& value = values_[output.node];
  if (plan_[output.node].by_rows)
    return sink_(output.name, value.shape(), first_, value.tensor().array());
  const Tensor whole = to_tensor(value, executor_);
  sink_(output.name, whole.shape(), 0, whole.array());
}

Tensor ByRows::rows_of(const Tensor& whole) const {
  return whole.slice(0, Slice{first_, first_ + count_});
}

bool ByRows::small(const Tensor& tensor) const {
  return bytes_of(tensor.dtype(), tensor.shape()) <= options_.bytes / 4;
}

uint64_t ByRows::bytes_by_rows() const {
  uint64_t bytes = 0;
  for (const auto& [name, source] : sources_) bytes += bytes_of(source.dtype, source.shape);
  return bytes;
}

// While the pieces come in, the value of the node itself is not known.
Value ByRows::across_rows(uint32_t node, const Call& call) {
  std::optional<RowReduction>& reduction = plan_[node].reduction;
  Value result;
  if (trial_) {
    result = call.run();
    reduction.emplace(call, result.tensor().dtype());
  } else {
    reduction->reduce(call);
  }
  result.level = level_of(call.values()) + 1;
  return result;
}

}  // namespace hologram::expression
