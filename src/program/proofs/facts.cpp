#include "program/proofs/facts.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace hologram::program {
namespace {

bool is_comparison(Op op) { return op >= Op::Eq && op <= Op::Ge; }
bool holds_numbers(DType type) { return is_integer(type) || type == DType::Bool; }

Op opposite(Op op) {
  switch (op) {
    case Op::Eq: return Op::Ne;
    case Op::Ne: return Op::Eq;
    case Op::Lt: return Op::Ge;
    case Op::Ge: return Op::Lt;
    case Op::Le: return Op::Gt;
    default: return Op::Le;
  }
}

}  // namespace

Facts::Facts(const Module& module)
    : m_(module),
      body_(host_ + static_cast<uint32_t>(m_.host.values.size())),
      first_length_(body_ + static_cast<uint32_t>(m_.body.values.size())),
      first_scalar_(first_length_ + static_cast<uint32_t>(m_.buffers.size())) {
  const size_t nodes = first_scalar_ + m_.scalars.size();
  definitions_.assign(nodes, nullptr);
  intervals_.assign(nodes, {});
  above_.resize(nodes);
  below_.resize(nodes);
  truths_.resize(nodes);
  decided_.resize(nodes);
  same_.resize(nodes);
  std::iota(same_.begin(), same_.end(), 0u);
  chosen_.assign(same_.begin(), same_.end());
  add_code(m_.host, host_);
  add_code(m_.body, body_);
  name_lengths();
  unify();
  for (const Inst& inst : m_.host.insts)
    if (inst.op == Op::Require) assume(host_ + inst.args[0], true);
}

void Facts::add_code(const Code& code, uint32_t first) {
  const std::vector<Interval> intervals = find_intervals(m_, code);
  std::copy(intervals.begin(), intervals.end(), intervals_.begin() + first);
  for (const Inst& inst : code.insts) {
    if (inst.id == kNone) continue;
    definitions_[first + inst.id] = &inst;
    if (inst.op == Op::Length) same_[first + inst.id] = first_length_ + inst.slot;
    if (inst.op == Op::Scalar) same_[first + inst.id] = first_scalar_ + inst.slot;
  }
}

// The host checks that a buffer is as long as the product of its dimensions, and that the index
// type can count its elements.
void Facts::name_lengths() {
  const Interval lengths = {0, range_of(m_.index).high};
  std::unordered_map<std::string_view, uint32_t> dimensions;
  buffers_with_.resize(m_.scalars.size());
  for (uint32_t s = 0; s < m_.scalars.size(); s++) {
    const ScalarParam& scalar = m_.scalars[s];
    if (scalar.dimension) dimensions.emplace(scalar.name, s);
    if (holds_numbers(scalar.type))
      intervals_[first_scalar_ + s] = scalar.dimension ? lengths : range_of(scalar.type);
  }
  factors_.resize(m_.buffers.size());
  for (uint32_t b = 0; b < m_.buffers.size(); b++) {
    const uint32_t node = first_length_ + b;
    intervals_[node] = lengths;
    lengths_.push_back(node);
    const BufferParam& buffer = m_.buffers[b];
    if (buffer.dims.empty()) continue;
    Factors& factors = factors_[b];
    Interval count = {1, 1};
    for (const Dim& dim : buffer.dims) {
      if (dim.name.empty()) {
        count = exact_interval(Op::Mul, count, {dim.length, dim.length});
        if (dim.length != 1) factors.push_back({kNone, dim.length});
      } else {
        const uint32_t scalar = dimensions.at(dim.name);
        factors.push_back({first_scalar_ + scalar, 1});
        buffers_with_[scalar].push_back(b);
      }
    }
    std::sort(factors.begin(), factors.end());
    const bool constant = std::all_of(factors.begin(), factors.end(),
                                      [](const Factor& f) { return f.node == kNone; });
    if (constant && contains(lengths, count)) intervals_[node] = count;
    const auto [first, is_new] = buffers_.emplace(factors, b);
    if (factors.size() == 1 && !constant) same_[node] = factors[0].node;
    else if (!is_new) same_[node] = first_length_ + first->second;
    lengths_[b] = same_[node];
  }
}

// What the body computes from scalars and lengths as host code does is the same number.
void Facts::unify() {
  using Key = std::tuple<Op, DType, DType, uint32_t, uint32_t, uint32_t, uint64_t>;
  std::map<Key, uint32_t> known;
  for (uint32_t node = host_; node < first_length_; node++) {
    const Inst* inst = definitions_[node];
    if (inst == nullptr || !(is_pure(inst->op) || inst->op == Op::Const)) continue;
    std::array<uint32_t, 3> args = {kNone, kNone, kNone};
    for (size_t k = 0, n = arity(*inst); k < n; k++) args[k] = root(operand(node, k));
    const Key key = {inst->op, inst->type, inst->from, args[0], args[1], args[2], inst->imm};
    if (node < body_) {
      const auto [first, is_new] = known.emplace(key, node);
      if (!is_new) same_[node] = first->second;
    } else if (const auto found = known.find(key); found != known.end()) {
      same_[node] = found->second;
    }
  }
}

uint32_t Facts::operand(uint32_t node, size_t k) const {
  return (node < body_ ? host_ : body_) + definitions_[node]->args[k];
}

std::optional<uint32_t> Facts::buffer_of(const Factors& factors) const {
  const auto found = buffers_.find(factors);
  return found == buffers_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t Facts::root(uint32_t node) const {
  while (chosen_[node] != node) node = chosen_[node];
  while (same_[node] != node) node = same_[node];
  return node;
}

bool Facts::keeps_value(const Inst& cast, uint32_t operand) const {
  return (cast.op == Op::Cast || cast.op == Op::Bitcast) && is_integer(cast.type) &&
         holds_numbers(cast.from) && contains(range_of(cast.type), intervals_[operand]);
}

uint32_t Facts::resolve(uint32_t node) {
  for (int hops = 0; hops < 16; hops++) {
    node = root(node);
    const Inst* inst = definitions_[node];
    if (inst == nullptr || arity(*inst) != 1 || !keeps_value(*inst, operand(node, 0))) break;
    node = operand(node, 0);
  }
  return node;
}

void Facts::assume_at_most(uint32_t a, uint32_t b, Wide offset) {
  a = resolve(a);
  b = resolve(b);
  const Interval &ia = intervals_[a], &ib = intervals_[b];
  if (ia.low == ia.high) {
    offset -= ia.low;
    a = kZero;
  }
  if (ib.low == ib.high) {
    offset += ib.low;
    b = kZero;
  }
  if (a == b) return;
  above_[a].push_back({b, offset});
  below_[b].push_back({a, -offset});
  log_.push_back({a, b});
}

void Facts::assume_comparison(Op op, uint32_t a, uint32_t b) {
  switch (op) {
    case Op::Lt: return assume_at_most(a, b, -1);
    case Op::Le: return assume_at_most(a, b, 0);
    case Op::Gt: return assume_at_most(b, a, -1);
    case Op::Ge: return assume_at_most(b, a, 0);
    case Op::Eq: assume_at_most(a, b, 0); return assume_at_most(b, a, 0);
    default:
      if (at_most(a, b, 0)) assume_at_most(a, b, -1);
      else if (at_most(b, a, 0)) assume_at_most(b, a, -1);
  }
}

void Facts::assume(uint32_t condition, bool holds, int depth) {
  condition = root(condition);
  const Inst* inst = definitions_[condition];
  if (inst == nullptr || depth == 0) return;
  if (!truths_[condition]) {
    truths_[condition] = holds;
    log_.push_back({condition, kNone});
  }
  if (inst->op == Op::Not) return assume(operand(condition, 0), !holds, depth - 1);
  if ((inst->op == Op::And && holds) || (inst->op == Op::Or && !holds)) {
    assume(operand(condition, 0), holds, depth - 1);
    assume(operand(condition, 1), holds, depth - 1);
  } else if (is_comparison(inst->op) && is_integer(inst->from)) {
    assume_comparison(holds ? inst->op : opposite(inst->op), operand(condition, 0),
                      operand(condition, 1));
  }
}

void Facts::forget(size_t mark) {
  for (; log_.size() > mark; log_.pop_back()) {
    const auto& [a, b] = log_.back();
    if (b == kNone) {
      truths_[a].reset();
    } else {
      above_[a].pop_back();
      below_[b].pop_back();
    }
  }
}

std::optional<bool> Facts::truth(uint32_t condition, int depth) {
  if (decided_[condition]) return decided_[condition];
  condition = root(condition);
  if (truths_[condition]) return truths_[condition];
  const Inst* inst = definitions_[condition];
  if (inst == nullptr || depth == 0) return std::nullopt;
  if (inst->op == Op::Const) return inst->imm != 0;
  if (inst->op == Op::Not) {
    const auto inner = truth(operand(condition, 0), depth - 1);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if ((inst->op == Op::And || inst->op == Op::Or) && inst->type == DType::Bool) {
    const auto a = truth(operand(condition, 0), depth - 1);
    const auto b = truth(operand(condition, 1), depth - 1);
    const bool decides = inst->op == Op::Or;
    if (a == decides || b == decides) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  if (!is_comparison(inst->op) || !is_integer(inst->from)) return std::nullopt;
  const uint32_t a = operand(condition, 0), b = operand(condition, 1);
  const auto decide = [](bool yes, bool no) {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  switch (inst->op) {
    case Op::Lt: return decide(is_less(a, b), at_most(b, a, 0));
    case Op::Le: return decide(at_most(a, b, 0), is_less(b, a));
    case Op::Gt: return decide(is_less(b, a), at_most(a, b, 0));
    case Op::Ge: return decide(at_most(b, a, 0), is_less(a, b));
    default: {
      const bool apart = at_most(a, b, -1) || at_most(b, a, -1);
      const bool equal = !apart && at_most(a, b, 0) && at_most(b, a, 0);
      return inst->op == Op::Eq ? decide(equal, apart) : decide(apart, equal);
    }
  }
}

bool Facts::is_less(uint32_t a, uint32_t b) {
  return at_most(a, b, -1) || is_quotient_below(*this, a, b);
}

}  // namespace hologram::program
