#include "hologram/program.hpp"

#include "program/ir.hpp"
#include "program/passes/passes.hpp"
#include "program/program_state.hpp"

namespace hologram::program {

std::string_view name_of(Access access) {
  switch (access) {
    case Access::In: return "in";
    case Access::Out: return "out";
    case Access::InOut: return "inout";
    case Access::Atomic: return "atomic";
  }
  return "unknown";
}

Program Program::from(Module module) {
  verify(module);
  auto state = std::make_shared<State>();
  for (Inst& inst : module.body.insts) inst.proved = false;
  state->optimized = module;
  state->source = std::move(module);
  optimize(state->optimized);
  prove_bounds(state->optimized);
  simplify(state->optimized);
  state->needs = needs_of(state->optimized);
  state->hash = hash_of(state->optimized);
  return Program(std::move(state));
}

const std::string& Program::name() const { return state_->source.name; }
std::span<const BufferParam> Program::buffers() const { return state_->source.buffers; }
std::span<const ScalarParam> Program::scalars() const { return state_->source.scalars; }
std::array<uint32_t, 3> Program::workgroup() const { return state_->source.workgroup; }
const Needs& Program::needs() const { return state_->needs; }
Cost Program::cost() const { return cost_of(state_->optimized); }
const Hash128& Program::hash() const { return state_->hash; }
const Module& Program::source() const { return state_->source; }
const Module& Program::optimized() const { return state_->optimized; }

}  // namespace hologram::program
