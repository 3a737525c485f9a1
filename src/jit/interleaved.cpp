// Elements that stand side by side, loaded by several instructions at any index: the channels of a
// pixel, the coordinates of a point, neighbours in a row that a lane walks. Where what they have in
// common turns out to be so, each lane brings all of its elements by one load, or takes them back.
#include <algorithm>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr uint32_t kMostBytes = 4;  // of an element

}  // namespace

// src[i], then src[i + a], src[i + b] …, where a and b are the same in all lanes.
void Compiler::find_tuples() {
  const uint32_t least = target_.least_of_tuple();
  if (least == 0) return;
  const auto n = static_cast<uint32_t>(module_.body.insts.size());
  const auto is_loaded_anywhere = [&](const Inst& i) {
    return i.op == Op::Load && form(i.id) == Form::Varying && analysis_.uses[i.id].count > 0 &&
           type(i.args[0]) == DType::I32 && module_.buffers[i.slot].type != DType::Bool &&
           size_of(module_.buffers[i.slot].type) <= kMostBytes && !neighbours(i.args[0]);
  };
  for (uint32_t at = 0; at < n; at++) {
    const Inst& first = inst(at);
    if (!is_loaded_anywhere(first)) continue;
    Tuple tuple;
    for (uint32_t k = at + 1; k < n && tuple.rest.size() + 1 < kMostOfTuple; k++) {
      const Inst& i = inst(k);
      if (!program::is_pure(i.op) && i.op != Op::Load && i.op != Op::Get && i.op != Op::Const)
        break;
      if (!is_loaded_anywhere(i) || i.slot != first.slot) continue;
      const Inst& sum = definition(i.args[0]);
      if (sum.op != Op::Add) continue;
      const size_t which = sum.args[0] == first.args[0] ? 1 : 0;
      const uint32_t apart = sum.args[which];
      if (sum.args[1 - which] != first.args[0] || form(apart) != Form::Uniform) continue;
      const bool right = is_constant(apart) ? definition(apart).imm == tuple.rest.size() + 1
                                            : analysis_.definition[apart] < at;
      if (right) tuple.rest.push_back({k, apart});
    }
    if (tuple.rest.size() + 1 >= least) tuples_.emplace(at, std::move(tuple));
  }
  for (uint32_t at = 0; at < n; at++)
    if (begins_stored_tuple(at)) stored_tuples_.insert(at);
}

// dst[i] to dst[i + 3], one after the other, as they stand in registers.
bool Compiler::begins_stored_tuple(uint32_t at) const {
  if (at + kMostOfTuple > module_.body.insts.size()) return false;
  const Inst& first = inst(at);
  for (uint32_t k = 0; k < kMostOfTuple; k++) {
    const Inst& i = inst(at + k);
    if (i.op != Op::Store || i.slot != first.slot || !i.proved ||
        form(i.args[0]) != Form::Varying || type(i.args[0]) != DType::I32 ||
        size_of(i.type) != kMostBytes ||
        (module_.buffers[i.slot].type != i.type && module_.buffers[i.slot].type != DType::F16))
      return false;
    if (k == 0) continue;
    const Inst& sum = definition(i.args[0]);
    if (sum.op != Op::Add) return false;
    const size_t which = sum.args[0] == first.args[0] ? 1 : 0;
    const uint32_t apart = sum.args[which];
    if (sum.args[1 - which] != first.args[0] || !is_constant(apart) || definition(apart).imm != k)
      return false;
  }
  return true;
}

// What the indices of lanes go up by, where that is one number: i * n + j of lane i, and nothing is
// beyond 32 bits. kNone where it is none.
uint32_t Compiler::step_of_lanes(const Inst& access) const {
  return access.trusted ? step_between(access.args[0]) : kNone;
}

uint32_t Compiler::step_between(uint32_t index) const {
  const Inst& i = definition(index);
  if (i.op != Op::Add && i.op != Op::Mul) return kNone;
  const size_t same = form(i.args[0]) == Form::Uniform ? 0 : 1;
  const uint32_t uniform = i.args[same], other = i.args[1 - same];
  if (form(uniform) != Form::Uniform) return kNone;
  if (i.op == Op::Add) return step_between(other);
  return form(other) == Form::Affine && analysis_.steps[other] == 1 ? uniform : kNone;
}

// Loads down columns: the element of the lane beside is a step away, that of the row below is next
// to it, as the row's number is one of what the index adds up.
uint32_t Compiler::loads_of_columns() const {
  std::vector<bool> adds_row(analysis_.definition.size());
  uint32_t count = 0;
  for (const Inst& i : module_.body.insts) {
    if (i.op == Op::Add) adds_row[i.id] = adds_row[i.args[0]] || adds_row[i.args[1]];
    else if (i.op == Op::GlobalId || i.op == Op::GroupId) adds_row[i.id] = i.aux == 1;
    else if (i.op == Op::Load && adds_row[i.args[0]] && step_of_lanes(i) != kNone) count++;
  }
  return count;
}

void Compiler::store_tuple(uint32_t at) {
  const Inst& first = inst(at);
  const uint32_t apart = step_of_lanes(first);
  const BaseReg step = apart == kNone ? BaseReg() : extended(apart);
  for (uint32_t k = 0; k < unroll_; k++) {
    const BaseReg index = target_.in_register(DType::I32, operand(first.args[0], k));
    std::array<BaseReg, kMostOfTuple> from;
    for (uint32_t j = 0; j < kMostOfTuple; j++)
      from[j] = target_.in_register(first.type, operand(inst(at + j).args[1], k));
    target_.scatter_tuples(module_.buffers[first.slot].type, data_[first.slot], index, step, from);
  }
  for (uint32_t j = 1; j < kMostOfTuple; j++) done_.insert(at + j);
}

// The last first index of a tuple that lies inside; below 0 if none does.
void Compiler::measure_tuples() {
  for (const auto& [at, tuple] : tuples_) {
    const uint32_t slot = inst(at).slot;
    Last& last = last_tuples_[slot];
    if (last.index.isValid()) continue;
    last.index = target_.scalar();
    const BaseReg most = target_.scalar();
    target_.set(most, INT32_MAX - int64_t{kMostOfTuple});
    target_.scalar_op(Op::Sub, DType::I64, last.index, lengths_[slot], asmjit::imm(kMostOfTuple));
    target_.scalar_op(Op::Min, DType::I64, last.index, last.index, most);
    last.in_all_lanes = target_.vector(DType::U32);
    target_.broadcast(DType::U32, last.in_all_lanes, last.index);
  }
}

// All loads of a tuple, with the sums that are nothing but their indices.
void Compiler::load_tuple(uint32_t at, const Tuple& tuple) {
  const Inst& first = inst(at);
  const DType stored = module_.buffers[first.slot].type;
  const size_t count = tuple.rest.size() + 1;
  std::array<std::array<BaseReg, kMaxUnroll>, kMostOfTuple> loaded;
  for (size_t j = 0; j < count; j++)
    for (uint32_t k = 0; k < unroll_; k++) loaded[j][k] = target_.vector(first.type);
  std::vector<BaseReg> indices;
  for (uint32_t k = 0; k < unroll_; k++)
    indices.push_back(target_.in_register(DType::I32, operand(first.args[0], k)));
  const uint32_t between = step_of_lanes(first);
  const BaseReg step = between == kNone ? BaseReg() : extended(between);
  const auto load_together = [&] {
    for (uint32_t k = 0; k < unroll_; k++) {
      std::array<BaseReg, kMostOfTuple> to;
      for (size_t j = 0; j < count; j++) to[j] = loaded[j][k];
      target_.load_interleaved(stored, data_[first.slot], indices[k], step, {to.data(), count});
    }
  };
  // The sums that are their indices, which nothing else may need.
  const auto sum_of = [&](const Tuple::Member& m) {
    return analysis_.definition[inst(m.load).args[0]];
  };
  for (const Tuple::Member& m : tuple.rest) {
    done_.insert(m.load);
    const uint32_t sum = sum_of(m);
    if (sum < at) continue;
    if (analysis_.uses[inst(sum).id].count > 1 && !done_.contains(sum)) pure(sum);
    done_.insert(sum);
  }
  const bool all_there = masks_.empty() && count == kMostOfTuple && first.proved &&
                         std::all_of(tuple.rest.begin(), tuple.rest.end(), [&](const auto& m) {
                           return inst(m.load).proved && is_constant(m.apart);
                         });
  if (all_there) {
    load_together();
  } else {
    const Label together = label(), apart = label(), end = label();
    for (size_t j = 1; j < count; j++)
      if (const uint32_t by = tuple.rest[j - 1].apart; !is_constant(by))
        target_.jump_if(Cond::NotEqual, scalar_of(by), asmjit::imm(j), false, apart);
    const Last& last = last_tuples_[first.slot];
    target_.jump_if(Cond::Less, last.index, asmjit::imm(0), true, apart);
    target_.jump_if_all_at_most(indices, last.in_all_lanes, together);
    target_.seldom(apart, together);
    bind(apart);
    const auto load_apart = [&](const Inst& i, size_t j) {
      load_any(i);
      for (uint32_t k = 0; k < unroll_; k++)
        target_.copy_vector(first.type, loaded[j][k], values_[i.id].vectors[k]);
    };
    load_apart(first, 0);
    for (size_t j = 1; j < count; j++) {
      const uint32_t sum = sum_of(tuple.rest[j - 1]);
      if (sum > at && analysis_.uses[inst(sum).id].count == 1) pure(sum);
      load_apart(inst(tuple.rest[j - 1].load), j);
    }
    target_.jump(end);
    bind(together);
    load_together();
    bind(end);
  }
  for (size_t j = 0; j < count; j++) {
    const Inst& i = j == 0 ? first : inst(tuple.rest[j - 1].load);
    for (uint32_t k = 0; k < unroll_; k++) values_[i.id].vectors[k] = loaded[j][k];
  }
}

}  // namespace hologram::jit
