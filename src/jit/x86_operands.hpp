// The virtual registers that an instruction of AsmJit's works on.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <span>

namespace hologram::jit {

inline bool is_virtual(uint32_t id) { return asmjit::Operand::isVirtId(id); }

// fn(id, group) for each virtual register of an operand; it may return another id.
template <class Fn>
void each_register(asmjit::Operand& operand, Fn fn) {
  if (operand.isReg() && is_virtual(operand.id())) {
    auto& r = operand.as<asmjit::BaseReg>();
    r.setId(fn(r.id(), static_cast<uint32_t>(r.group())));
  } else if (operand.isMem()) {
    auto& m = operand.as<asmjit::x86::Mem>();
    if (m.hasBaseReg() && is_virtual(m.baseId()) && !m.isRegHome()) m.setBaseId(fn(m.baseId(), 0));
    if (m.hasIndexReg() && is_virtual(m.indexId()))
      m.setIndexId(fn(m.indexId(), m.indexType() >= asmjit::RegType::kVec128 ? 1 : 0));
  }
}
template <class Fn>
void each_register(asmjit::InstNode& node, Fn fn) {
  for (asmjit::Operand& operand : std::span(node.operands(), node.opCount()))
    each_register(operand, fn);
  if (node.hasExtraReg() && is_virtual(node.extraReg().id())) {
    asmjit::RegOnly mask = node.extraReg();
    mask.setId(fn(mask.id(), 2));
    node.setExtraReg(mask);
  }
  if (node.type() != asmjit::NodeType::kInvoke) return;
  auto& invoke = *node.as<asmjit::InvokeNode>();
  for (uint32_t k = 0; k < invoke.argCount(); k++) each_register(invoke.arg(k, 0), fn);
  if (invoke.hasRet()) each_register(invoke.ret(), fn);
}

}  // namespace hologram::jit
