#include "jit/x86_folding.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace hologram::jit {

namespace {

namespace I = asmjit::x86::Inst;
using asmjit::BaseReg;
using asmjit::InstNode;
using asmjit::Operand;
using asmjit::RegGroup;

// Whether the operands behind the first may change places.
bool commutes(asmjit::InstId id) {
  constexpr asmjit::InstId kCommuting[] = {
      I::kIdVpaddd,  I::kIdVpaddq,  I::kIdVpmulld, I::kIdVpminsd,     I::kIdVpmaxsd,
      I::kIdVpminud, I::kIdVpmaxud, I::kIdVpand,   I::kIdVpor,        I::kIdVpxor,
      I::kIdVpandd,  I::kIdVpord,   I::kIdVpxord,  I::kIdVfmadd231ps, I::kIdVfmadd231pd};
  return std::find(std::begin(kCommuting), std::end(kCommuting), id) != std::end(kCommuting);
}

}  // namespace

void fold_general(InstNode& node, FindSpilled find) {
  constexpr asmjit::InstId kFromMemory[] = {I::kIdMov, I::kIdAdd, I::kIdCmp, I::kIdMovsxd,
                                            I::kIdSub, I::kIdOr,  I::kIdAnd, I::kIdImul};
  constexpr asmjit::InstId kToMemory[] = {I::kIdMov, I::kIdAdd, I::kIdCmp};
  const auto is_one_of = [&node](const auto& all) {
    return std::find(std::begin(all), std::end(all), node.id()) != std::end(all);
  };
  const auto is_general = [&node](uint32_t k) {
    const Operand& o = node.op(k);
    return o.isReg() && o.as<BaseReg>().isGp() && o.as<BaseReg>().size() >= 4;
  };
  if (node.opCount() != 2 || !is_one_of(kFromMemory) || !is_general(0)) return;
  if (!is_general(1) && (!node.op(1).isImm() || node.id() == I::kIdMov)) return;
  const std::optional<Spilled> to = find(node.op(0));
  const std::optional<Spilled> from = is_general(1) ? find(node.op(1)) : std::nullopt;
  if (to.has_value() == from.has_value()) return;
  const uint32_t k = from ? 1 : 0, size = node.op(k).as<BaseReg>().size();
  // Where 4 bytes are written, the others become 0 in a register only.
  if (!from && (!is_one_of(kToMemory) || size != 8)) return;
  asmjit::x86::Mem where = (from ? *from : *to).where;
  where.setSize(size);
  node.setOp(k, where);
}

uint32_t fold_vectors(InstNode& node, FindSpilled find) {
  const auto operands = std::span(node.operands(), node.opCount());
  const auto spilled = [&](const Operand& o) -> std::optional<Spilled> {
    const bool is_vector = o.isReg() && o.as<BaseReg>().group() == RegGroup::kVec;
    return is_vector ? find(o) : std::nullopt;
  };
  const auto is_there = [&](const Operand& o) { return spilled(o).has_value(); };
  const auto is_memory = [](const Operand& o) { return o.isMem(); };
  if (std::none_of(operands.begin(), operands.end(), is_there)) return kNotOnlyWritten;
  const bool to_general = operands[0].isReg() && operands[0].as<BaseReg>().isGp();
  if (to_general) return kNotOnlyWritten;
  if (operands.size() == 3 && is_there(operands[1]) && !is_there(operands[2]) &&
      operands[2].isReg() && commutes(node.id()))
    std::swap(operands[1], operands[2]);
  asmjit::InstRWInfo uses;
  if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, node.baseInst(), operands.data(),
                                   operands.size(), &uses) != asmjit::kErrorOk)
    return kNotOnlyWritten;
  const bool takes_one =
      uses.rmFeature() == 0 && std::none_of(operands.begin(), operands.end(), is_memory);
  for (size_t k = operands.size(); takes_one && k-- > 0;) {
    const auto& use = uses.operand(k);
    const auto of = spilled(operands[k]);
    if (!of || !use.isRm() || use.rmSize() == 0) continue;
    const bool moves = k == 0 && use.isWriteOnly() && !node.hasExtraReg() &&
                       !is_there(operands[1]) && use.rmSize() == of->size;
    if (!moves && !use.isReadOnly()) continue;
    // A register less itself is 0 whatever stands in it.
    const auto is_same = [&, id = operands[k].id()](const Operand& o) {
      return o.isReg() && o.id() == id;
    };
    const auto sources = operands.subspan(uses.operand(0).isWriteOnly() && k > 0 ? 1 : 0);
    if (std::count_if(sources.begin(), sources.end(), is_same) > 1) continue;
    asmjit::x86::Mem where = of->where;
    where.setSize(use.rmSize());
    operands[k] = where;
    break;
  }
  if (!is_there(operands[0]) || !uses.operand(0).isWriteOnly() || node.hasExtraReg())
    return kNotOnlyWritten;
  const auto is_first = [&](const Operand& o) { return o.isReg() && o.id() == operands[0].id(); };
  const bool reads = std::any_of(operands.begin() + 1, operands.end(), is_first);
  return reads ? kNotOnlyWritten : operands[0].id();
}

}  // namespace hologram::jit
