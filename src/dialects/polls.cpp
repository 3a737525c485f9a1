#include "dialects/polls.hpp"

#include "program/uniformity.hpp"

namespace hologram::dialects {
namespace {

using program::Inst;
using program::Module;
using program::Op;

constexpr uint64_t kFewRounds = 65536;

}  // namespace

std::vector<Poll> find_polls(const Module& module, bool cooperative) {
  const auto& insts = module.body.insts;
  const program::Uniformity uniform = program::find_uniformity(module);
  std::vector<const Inst*> definition(module.body.values.size());
  for (const Inst& inst : insts)
    if (inst.id != program::kNone) definition[inst.id] = &inst;

  const auto is_loop = [&](size_t at) {
    return insts[at].op == Op::Loop || insts[at].op == Op::For;
  };
  const auto is_short = [&](size_t at) {
    if (insts[at].op == Op::Loop) return false;
    const Inst& begin = *definition[insts[at].args[0]];
    const Inst& end = *definition[insts[at].args[1]];
    uint64_t distance = end.imm - begin.imm;
    if (size_of(insts[at].type) == 4) distance &= UINT32_MAX;
    return begin.op == Op::Const && end.op == Op::Const && distance / insts[at].imm <= kFewRounds;
  };
  const auto together = [&](size_t at) { return cooperative && uniform.flow[at + 1]; };

  std::vector<Poll> polls(insts.size(), Poll::None);
  std::vector<size_t> open;  // blocks around
  for (size_t i = 0; i < insts.size(); i++) {
    const Inst& inst = insts[i];
    if (inst.op == Op::End) open.pop_back();
    if (inst.op != Op::If && !is_loop(i)) continue;
    if (is_loop(i)) {
      bool inside = false;
      for (const size_t around : open) {
        if (!is_loop(around)) continue;
        inside = true;
        if (!is_short(i) || !is_short(around))
          polls[around] = together(around) ? Poll::Group : Poll::Lane;
      }
      if (is_short(i)) polls[i] = Poll::None;
      else if (inst.op == Op::Loop || size_of(inst.type) == 8)
        polls[i] = together(i) ? Poll::Group : Poll::Lane;
      else if (inside)
        polls[i] = together(i) && uniform.values[inst.args[0]] && uniform.values[inst.args[1]]
                       ? Poll::GroupCounted
                       : Poll::Counted;
    }
    open.push_back(i);
  }
  return polls;
}

}  // namespace hologram::dialects
