#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

void renumber_values(Code& code) {
  std::vector<uint32_t> number(code.values.size(), kNone);
  std::vector<DType> types;
  for (Inst& inst : code.insts) {
    for (size_t k = 0, n = arity(inst); k < n; k++) inst.args[k] = number[inst.args[k]];
    if (inst.id == kNone) continue;
    number[inst.id] = static_cast<uint32_t>(types.size());
    inst.id = number[inst.id];
    types.push_back(inst.type);
  }
  code.values = std::move(types);
}

}  // namespace

void renumber(Module& module) {
  renumber_values(module.body);
  std::vector<uint32_t> number(module.variables.size(), kNone);
  std::vector<Variable> variables;
  for (Inst& inst : module.body.insts) {
    if (inst.op == Op::Var) {
      number[inst.slot] = static_cast<uint32_t>(variables.size());
      variables.push_back(std::move(module.variables[inst.slot]));
    }
    if (inst.op == Op::Var || inst.op == Op::Get || inst.op == Op::Set)
      inst.slot = number[inst.slot];
  }
  module.variables = std::move(variables);
}

}  // namespace hologram::program
