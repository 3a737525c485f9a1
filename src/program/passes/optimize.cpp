#include <algorithm>

#include "program/float_environment.hpp"
#include "program/passes/passes.hpp"

namespace hologram::program {

void simplify(Module& module) {
  const FloatEnvironment environment;
  fold(module);
  drop_wraps(module);
  share(module);
  remove_dead(module);
  renumber(module);
}

void optimize(Module& module) {
  forward_variables(module);
  simplify(module);
  const auto& insts = module.body.insts;
  const bool straight = std::none_of(insts.begin(), insts.end(), [](const Inst& i) {
    return i.op == Op::Var || i.op == Op::For || i.op == Op::Loop;
  });
  if (straight) return;  // there is nothing more to do for the others
  hoist(module);
  // What moved out of different loops may be the same; a branch that is gone may have held the only
  // Set of a variable.
  forward_variables(module);
  simplify(module);
}

}  // namespace hologram::program
