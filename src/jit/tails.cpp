// Blocks for the first lanes of a chunk: what is left of a row is a few vectors of many, most of
// which are whole.
#include <algorithm>
#include <utility>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr int64_t kLargestStep = 1 << 20;  // of what an instruction adds for the lanes of a vector

}  // namespace

// Of the first `left` lanes, not more than there are; nothing accesses what is outside.
void Compiler::emit_first(uint32_t begin, uint32_t end, BaseReg left) {
  if (unroll_ > 1 && is_sums(begin, end)) return emit_sums(begin, end, left);
  if (unroll_ > 1 && is_by_vector(begin, end)) return emit_by_vector(begin, end, left);
  std::vector<BaseReg> masks(unroll_);
  target_.first_lanes(left, masks);
  emit_masked(masks, begin, end, left);
}

// ---- Sums ---------------------------------------------------------------------------------------

// Whether a block does nothing but to change variables by what waits for that.
bool Compiler::is_sums(uint32_t begin, uint32_t end) const {
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = inst(at);
    if (i.op == Op::Set) {
      if (analysis_.waits_for[analysis_.definition[i.args[0]]] != at) return false;
      for (uint32_t k = at + 1; k < end; k++)
        if (inst(k).op == Op::Get && inst(k).slot == i.slot) return false;
    } else if (i.op != Op::Get) {
      const bool computes = i.id != kNone && (i.op == Op::Load || program::is_pure(i.op));
      if (!computes || (form(i.id) == Form::Varying && analysis_.waits_for[at] == kNone))
        return false;
    }
  }
  return true;
}

// Of the first `left` lanes, a vector after the other as far as there are some.
void Compiler::emit_sums(uint32_t begin, uint32_t end, BaseReg left) {
  const Label done = label();
  std::vector<uint32_t> sets;
  const auto outer = std::exchange(masks_, std::vector<BaseReg>(unroll_));
  const uint32_t outer_level = std::exchange(level_, ++levels_);
  for (uint32_t at = begin; at < end; at++)
    if (inst(at).op == Op::Set) sets.push_back(at);
    else instruction(at);
  const auto lanes_of = [&](uint32_t vectors) {
    return asmjit::imm(int64_t{vectors} * target_.width);
  };
  const auto masked = [&](uint32_t k) {
    BaseReg here = left;
    if (k > 0) {
      here = target_.scalar();
      target_.scalar_op(Op::Sub, DType::I64, here, left, lanes_of(k));
    }
    masks_[k] = target_.first_of(here);
    for (const uint32_t at : sets) assign_vector(at, k);
  };
  std::vector<Label> parts;
  for (uint32_t k = 0; k < unroll_; k++) {
    if (k > 0) target_.jump_if(Cond::LessEqual, left, lanes_of(k), true, done);
    if (!target_.masks_are_slow()) {
      masked(k);
      continue;
    }
    parts.push_back(label());
    target_.jump_if(Cond::Less, left, lanes_of(k + 1), true, parts[k]);
    const auto masks = std::exchange(masks_, {});
    for (const uint32_t at : sets) assign_vector(at, k);
    masks_ = masks;
  }
  if (!parts.empty()) target_.jump(done);
  for (uint32_t k = 0; k < parts.size(); k++) {
    bind(parts[k]);
    masked(k);
    target_.jump(done);
  }
  bind(done);
  masks_ = outer;
  level_ = outer_level;
}

// ---- A vector at a time -------------------------------------------------------------------------

// Whether a block has no branches and nothing to do with variables or values that lanes have from
// before, but where they count along.
bool Compiler::is_by_vector(uint32_t begin, uint32_t end) const {
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = inst(at);
    if (i.op != Op::Store && i.op != Op::Load && i.op != Op::LaneId && i.op != Op::GlobalId &&
        !program::is_pure(i.op))
      return false;
    if (tuples_.contains(at)) return false;
    for (size_t k = 0; k < program::arity(i); k++) {
      const uint32_t value = i.args[k];
      if (analysis_.definition[value] >= begin) continue;
      if (form(value) == Form::Varying) return false;
      const int64_t step = analysis_.steps[value];
      if (form(value) == Form::Affine && (step > kLargestStep || step < -kLargestStep))
        return false;
    }
  }
  return true;
}

// A chunk of one vector goes along the lanes: whole ones, and what is left of the last with a mask.
void Compiler::emit_by_vector(uint32_t begin, uint32_t end, BaseReg left) {
  std::map<uint32_t, BaseReg> counted;  // values from before that count along, of this vector
  for (uint32_t at = begin; at < end; at++)
    for (size_t k = 0; k < program::arity(inst(at)); k++) {
      const uint32_t value = inst(at).args[k];
      if (analysis_.definition[value] < begin && form(value) == Form::Affine)
        counted[value] = values_[value].scalar;
    }
  const auto shifted = [&](BaseReg from) {
    const BaseReg r = target_.scalar();
    target_.copy(r, from);
    return r;
  };
  const auto before = counted;
  for (auto& [value, r] : counted) values_[value].scalar = r = shifted(r);
  const BaseReg x = std::exchange(x_, shifted(x_)), rest = shifted(left);
  tested_.first.clear();
  tested_.computed.clear();
  const uint32_t unroll = std::exchange(unroll_, 1);
  const auto width = static_cast<int64_t>(target_.width);
  const Label whole = label(), some = label(), done = label();

  bind(whole);
  target_.jump_if(Cond::Less, rest, asmjit::imm(width), true, some);
  emit(begin, end);
  for (const auto& [value, r] : counted)
    target_.scalar_op(Op::Add, type(value), r, r, asmjit::imm(analysis_.steps[value] * width));
  target_.scalar_op(Op::Add, DType::I64, x_, x_, asmjit::imm(width));
  target_.scalar_op(Op::Sub, DType::I64, rest, rest, asmjit::imm(width));
  target_.jump(whole);
  bind(some);
  target_.jump_if(Cond::Equal, rest, asmjit::imm(0), true, done);
  emit_masked({target_.first_of(rest)}, begin, end, rest);
  bind(done);

  unroll_ = unroll;
  x_ = x;
  for (const auto& [value, r] : before) values_[value].scalar = r;
}

}  // namespace hologram::jit
