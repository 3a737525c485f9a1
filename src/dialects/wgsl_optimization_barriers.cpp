// Which operands compilers of WGSL must not see through.
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {

using program::Inst;
using program::Op;

OptimizationBarriers::OptimizationBarriers(const program::Module& module, bool fused)
    : definitions_(module.body.values.size()), fused_(fused) {
  for (const Inst& inst : module.body.insts)
    if (inst.id != program::kNone) definitions_[inst.id] = &inst;
}

bool OptimizationBarriers::operator()(const Inst& inst, size_t operand) const {
  const uint32_t value = inst.args[operand];
  if (inst.type == DType::Bool && inst.from == DType::F32)
    return is_computed(value);  // a + b < a is not b < 0, where a is large
  const uint32_t other = inst.args[operand == 0 ? 1 : 0];
  switch (inst.op) {
    case Op::Div: return (value == other && operand == 1) || is_computed(value);
    case Op::Fma:
    case Op::Mad:
      if (!fused_ || operand == 2) return false;  // fma_f32 sees to it
      [[fallthrough]];
    case Op::Mul:
      if (is_number(value)) return definitions_[value]->imm << 33 == 0;
      return is_number(other) ? is_computed(value) : magnitude(value)->op == Op::Sqrt;
    case Op::Sub:
      if (value == other) return operand == 1;
      [[fallthrough]];
    case Op::Add:
      return is_sum(value) || share(value, other) || interpolates(value, other) ||
             (is_number(other) && is_selected(value));
    case Op::Select: return operand == 1 && is_of_extremum(inst);
    default: return false;
  }
}

// What makes the value but for its sign: compilers go through negation, and through abs where they
// know it.
const Inst* OptimizationBarriers::magnitude(uint32_t value) const {
  const Inst* i = definitions_[value];
  while (i->op == Op::Neg || i->op == Op::Abs) i = definitions_[i->args[0]];
  return i;
}

// Of a product and a constant, too: of those, one of the two goes away again.
bool OptimizationBarriers::is_sum(uint32_t value) const {
  const Inst& i = *magnitude(value);
  return i.op == Op::Add || i.op == Op::Sub || (i.op == Op::Fma && is_number(i.args[2]));
}

bool OptimizationBarriers::is_selected(uint32_t value) const {
  const Op op = magnitude(value)->op;
  return op == Op::Select || op == Op::Min || op == Op::Max;
}

// With a number, (a + b) * c becomes a * c + b * c, also where a + b is one of two to select from.
bool OptimizationBarriers::is_computed(uint32_t value) const {
  const Op op = magnitude(value)->op;
  return op == Op::Mul || op == Op::Div || op == Op::Sqrt || is_selected(value) || is_sum(value);
}

// A product and its factor, two products of one factor, a value and its negative: a * b + a * c is
// not a * (b + c).
bool OptimizationBarriers::share(uint32_t a, uint32_t b) const {
  const Inst *x = magnitude(a), *y = magnitude(b);
  if (x == y) return true;
  const auto product = [](const Inst& i) { return i.op == Op::Mul || i.op == Op::Div; };
  return product(*x) && (product(*y) || magnitude(x->args[0]) == y || magnitude(x->args[1]) == y);
}

// a + c * (b - a), which compilers know as a way from a to b, is not a * (1 - c) + b * c.
bool OptimizationBarriers::interpolates(uint32_t product, uint32_t from) const {
  const Inst &x = *magnitude(product), &a = *magnitude(from);
  if (x.op != Op::Mul) return false;
  const auto is_from = [&](uint32_t term) {
    const Inst& t = *magnitude(term);
    return &t == &a || (t.op == Op::Const && a.op == Op::Const && t.imm << 33 == a.imm << 33);
  };
  const auto starts_there = [&](uint32_t factor) {
    const Inst& way = *magnitude(factor);
    return (way.op == Op::Add || way.op == Op::Sub) &&
           (is_from(way.args[0]) || is_from(way.args[1]));
  };
  return starts_there(x.args[0]) || starts_there(x.args[1]);
}

bool OptimizationBarriers::is_of_extremum(const Inst& select) const {
  const Inst& test = *definitions_[select.args[0]];
  if (test.from != DType::F32 || program::info(test.op).category != program::Category::Compare)
    return false;
  const uint32_t a = select.args[1], b = select.args[2];
  return (test.args[0] == a && test.args[1] == b) || (test.args[0] == b && test.args[1] == a);
}

}  // namespace hologram::dialects::wgsl
