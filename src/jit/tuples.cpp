// Elements that stand side by side, loaded by several instructions at any index: the channels of a
// pixel, the coordinates of a point. Where what they have in common turns out to be so, each lane
// brings all of its elements by one load.
#include <algorithm>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr uint32_t kBytesOfElement = 4;

}  // namespace

// src[i], then src[i + a], src[i + b] …, where a and b are the same in all lanes.
void Compiler::find_tuples() {
  if (!target_.gathers_tuples()) return;
  const auto n = static_cast<uint32_t>(module_.body.insts.size());
  const auto is_loaded_anywhere = [&](const Inst& i) {
    return i.op == Op::Load && form(i.id) == Form::Varying && analysis_.uses[i.id].count > 0 &&
           type(i.args[0]) == DType::I32 &&
           size_of(module_.buffers[i.slot].type) == kBytesOfElement && !neighbours(i.args[0]);
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
      if (sum.op != Op::Add || analysis_.uses[sum.id].count != 1 ||
          analysis_.definition[sum.id] < at)
        continue;
      const size_t which = sum.args[0] == first.args[0] ? 1 : 0;
      const uint32_t apart = sum.args[which];
      if (sum.args[1 - which] != first.args[0] || form(apart) != Form::Uniform) continue;
      const bool right = is_constant(apart) ? definition(apart).imm == tuple.rest.size() + 1
                                            : analysis_.definition[apart] < at;
      if (right) tuple.rest.push_back({k, apart});
    }
    if (!tuple.rest.empty()) tuples_.emplace(at, std::move(tuple));
  }
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
    for (uint32_t k = 0; k < unroll_; k++) loaded[j][k] = target_.vector(stored);
  std::vector<BaseReg> indices;
  for (uint32_t k = 0; k < unroll_; k++)
    indices.push_back(target_.in_register(DType::I32, operand(first.args[0], k)));
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
      target_.copy_vector(stored, loaded[j][k], values_[i.id].vectors[k]);
  };
  load_apart(first, 0);
  for (size_t j = 1; j < count; j++) {
    const Inst& i = inst(tuple.rest[j - 1].load);
    const uint32_t sum = analysis_.definition[i.args[0]];
    pure(sum);
    load_apart(i, j);
    done_.insert({sum, tuple.rest[j - 1].load});
  }
  target_.jump(end);
  bind(together);
  for (uint32_t k = 0; k < unroll_; k++) {
    std::array<BaseReg, kMostOfTuple> to;
    for (size_t j = 0; j < count; j++) to[j] = loaded[j][k];
    target_.gather_tuples(data_[first.slot], indices[k], {to.data(), count});
  }
  bind(end);
  for (size_t j = 0; j < count; j++) {
    const Inst& i = j == 0 ? first : inst(tuple.rest[j - 1].load);
    for (uint32_t k = 0; k < unroll_; k++) values_[i.id].vectors[k] = loaded[j][k];
  }
}

}  // namespace hologram::jit
