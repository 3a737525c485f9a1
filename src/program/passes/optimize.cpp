#include "program/float_environment.hpp"
#include "program/passes/passes.hpp"

namespace hologram::program {

void simplify(Module& module) {
  const FloatEnvironment environment;
  fold(module);
  share(module);
  remove_dead(module);
  renumber(module);
}

void optimize(Module& module) {
  forward_variables(module);
  simplify(module);
  hoist(module);
  // What moved out of different loops may be the same; a branch that is gone may have held the only
  // Set of a variable.
  forward_variables(module);
  simplify(module);
}

}  // namespace hologram::program
