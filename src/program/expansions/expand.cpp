#include "program/expansions/expand.hpp"

#include "program/expansions/builder_value.hpp"
#include "program/expansions/functions.hpp"

namespace hologram::program {

// exp within another function: an instruction where such are kept.
namespace expansions {
template <int w>
BuilderFloat<w> exp(BuilderFloat<w> x) {
  constexpr DType type = BuilderFloat<w>::type;
  const bool replaced = x.emitter->replaces({.op = Op::Exp, .type = type, .from = type});
  return replaced ? portable::exp<BuilderFloat<w>>(x) : emit<BuilderFloat<w>>(Op::Exp, x);
}
}  // namespace expansions

namespace {

namespace ex = expansions;

// The value that replaces `inst`, whose operands are given by their new ids.
template <int width>
uint32_t expand(ex::Emitter& emitter, const Inst& inst) {
  using F = ex::BuilderFloat<width>;
  const F x{&emitter, inst.args[0]};
  const F y{&emitter, inst.args[1]};
#define UNARY(name_of_op, name) \
  if (inst.op == Op::name_of_op) return ex::portable::name(x).id;
#define BINARY(name_of_op, name) \
  if (inst.op == Op::name_of_op) return ex::portable::name(x, y).id;
#include "program/expansions/functions.inc"
#undef UNARY
#undef BINARY
  return kNone;
}

}  // namespace

Module expand_functions(const Module& module, bool (*chosen)(const Inst&)) {
  Module out = module;
  out.body = {};
  ex::Emitter emitter(out, out.body, chosen);
  std::vector<uint32_t> renamed(module.body.values.size(), kNone);
  for (Inst inst : module.body.insts) {
    emitter.set_line(inst.line);
    for (uint32_t& arg : inst.args)
      if (arg != kNone) arg = renamed[arg];
    const uint32_t id = inst.id;
    if (info(inst.op).category == Category::Function && emitter.replaces(inst))
      renamed[id] = inst.from == DType::F32 ? expand<32>(emitter, inst) : expand<64>(emitter, inst);
    else if (id != kNone) renamed[id] = emitter.define(inst);
    else emitter.append(inst);
  }
  return out;
}

}  // namespace hologram::program
