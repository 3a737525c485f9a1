// Which operands compilers of WGSL must not see through.
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {

using program::Inst;
using program::Op;

Hidden::Hidden(const program::Module& module, bool fused)
    : definitions_(module.body.values.size()), fused_(fused) {
  for (const Inst& inst : module.body.insts)
    if (inst.id != program::kNone) definitions_[inst.id] = &inst;
}

bool Hidden::operator()(const Inst& inst, size_t operand) const {
  const uint32_t value = inst.args[operand];
  const bool same = inst.args[0] == inst.args[1];
  switch (inst.op) {
    case Op::Div: return same && operand == 1;
    case Op::Fma:
    case Op::Mad:
      if (!fused_ || operand == 2) return false;  // fma_f32 sees to it
      [[fallthrough]];
    case Op::Mul: return is_number(value) && definitions_[value]->imm << 33 == 0;
    case Op::Sub:
      if (same) return operand == 1;
      [[fallthrough]];
    case Op::Add: return is_sum(value);
    case Op::Select: return operand == 1 && is_of_extremum(inst);
    default: return false;
  }
}

// Of a product and a constant, too: of those, one of the two goes away again.
bool Hidden::is_sum(uint32_t value) const {
  const Inst& i = *definitions_[value];
  return i.op == Op::Add || i.op == Op::Sub || (i.op == Op::Fma && is_number(i.args[2]));
}

bool Hidden::is_of_extremum(const Inst& select) const {
  const Inst& test = *definitions_[select.args[0]];
  if (test.from != DType::F32 || program::info(test.op).category != program::Category::Compare)
    return false;
  const uint32_t a = select.args[1], b = select.args[2];
  return (test.args[0] == a && test.args[1] == b) || (test.args[0] == b && test.args[1] == a);
}

}  // namespace hologram::dialects::wgsl
