#include "dialects/unrolling.hpp"

#include <optional>

namespace hologram::dialects {
namespace {

using program::Inst;
using program::Module;
using program::Op;

constexpr uint64_t kMostRounds = 32, kMostInstructions = 4096;

// How often it goes round.
std::optional<uint64_t> rounds(const Inst& loop, const std::vector<const Inst*>& definition) {
  const Inst& begin = *definition[loop.args[0]];
  const Inst& end = *definition[loop.args[1]];
  if (begin.op != Op::Const || end.op != Op::Const) return std::nullopt;
  const uint64_t distance = end.imm - begin.imm;
  // A loop that goes down does nothing.
  if (distance > kMostRounds * loop.imm) return std::nullopt;
  return (distance + loop.imm - 1) / loop.imm;
}

}  // namespace

std::vector<bool> find_unrolled(const Module& module) {
  const auto& insts = module.body.insts;
  std::vector<const Inst*> definition(module.body.values.size());
  for (const Inst& inst : insts)
    if (inst.id != program::kNone) definition[inst.id] = &inst;
  std::vector<bool> unrolled(insts.size());
  for (size_t i = 0; i < insts.size(); i++) {
    if (insts[i].op != Op::For) continue;
    const auto count = rounds(insts[i], definition);
    if (!count) continue;
    bool reads = false;
    size_t end = i + 1;
    while (end < insts.size() &&
           program::info(insts[end].op).category != program::Category::Control) {
      reads = reads || insts[end].op == Op::Load || insts[end].op == Op::SharedLoad;
      end++;
    }
    unrolled[i] = reads && insts[end].op == Op::End && *count * (end - i) <= kMostInstructions;
  }
  return unrolled;
}

}  // namespace hologram::dialects
