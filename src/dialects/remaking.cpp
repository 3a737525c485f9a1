#include "dialects/remaking.hpp"

#include <algorithm>

namespace hologram::dialects {
namespace {

using program::Access;
using program::Inst;
using program::kNone;
using program::Op;

constexpr uint32_t kMostSteps = 4;  // from the elements

bool is_cheap(const Inst& inst) {
  switch (inst.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg:
    case Op::Abs:
    case Op::Select:
    case Op::RoundF16:
    case Op::RoundBF16: return inst.type == DType::F32;
    default: return false;
  }
}

}  // namespace

Remaking::Remaking(const program::Module& module, uint32_t lanes)
    : span_(module.body.insts.size()),
      remade_(module.body.values.size()),
      is_element_(module.body.values.size()),
      definitions_(module.body.values.size()) {
  const auto& insts = module.body.insts;
  std::vector<uint32_t> made(module.body.values.size()), steps(module.body.values.size());
  std::vector<bool> loads(module.body.values.size()), later(module.body.values.size());
  uint32_t depth = 0, now = 0;
  for (size_t i = 0; i < insts.size(); i++) {
    const Inst& inst = insts[i];
    if (inst.op == Op::End) depth--;
    span_[i] = now;
    if (inst.op == Op::If || inst.op == Op::For || inst.op == Op::Loop) depth++;
    if (inst.op == Op::GroupReduce && depth == 0) now++;
    for (size_t k = 0; k < program::arity(inst); k++)
      if (made[inst.args[k]] < span_[i]) later[inst.args[k]] = true;
    if (inst.id == kNone) continue;
    definitions_[inst.id] = &inst;
    made[inst.id] = span_[i];
    if (depth > 0) continue;
    loads[inst.id] = inst.op == Op::Load && inst.type == DType::F32 &&
                     module.buffers[inst.slot].access == Access::In;
    if (!is_cheap(inst)) continue;
    for (size_t k = 0; k < program::arity(inst); k++) {
      const uint32_t operand = inst.args[k];
      if (loads[operand] || steps[operand] > 0) steps[inst.id] += 1 + steps[operand];
    }
    if (steps[inst.id] > kMostSteps) steps[inst.id] = 0;
  }
  // What a later span uses, and what that is made of.
  bool any = false;
  for (size_t i = insts.size(); i-- > 0;) {
    const Inst& inst = insts[i];
    if (inst.id == kNone || steps[inst.id] == 0 || !later[inst.id]) continue;
    remade_[inst.id] = any = true;
    for (size_t k = 0; k < program::arity(inst); k++) later[inst.args[k]] = true;
  }
  if (!any) return;
  for (size_t i = 0; i < insts.size(); i++) {
    const uint32_t id = insts[i].id;
    if (id == kNone || !loads[id] || !later[id]) continue;
    is_element_[id] = true;
    elements_.emplace_back(id, i);
  }
  of_.assign(lanes, made);
}

std::vector<uint32_t> Remaking::elements_at(size_t at) const {
  std::vector<uint32_t> known;
  for (const auto& [id, loaded] : elements_)
    if (loaded < at) known.push_back(id);
  return known;
}

void Remaking::close(size_t depth, Names& names) {
  for (; !done_.empty() && done_.back().depth > depth; done_.pop_back()) {
    Done& last = done_.back();
    of_[last.lane][last.id] = last.span;
    names[last.lane][last.id] = std::move(last.name);
  }
}

}  // namespace hologram::dialects
