// The passes that optimize() is made of. Each takes and leaves a verified module, changes the body
// only, and takes time proportional to its length (times the depth of its blocks).
#pragma once

#include "program/ir.hpp"

namespace hologram::program {

// A Get becomes the value that its variable is known to hold.
void forward_variables(Module& module);

// Constants and exact identities; blocks that always or never run; what follows a jump.
void fold(Module& module);

// One pure instruction by exact identities, for fold: `definition` gives the instruction that makes
// a value. The result replaces the instruction: the value itself, or `inst` was rewritten (or
// left).
class Definitions {
 public:
  virtual ~Definitions() = default;
  virtual const Inst& of(uint32_t value) const = 0;
  virtual uint32_t constant(DType type, uint64_t bits) = 0;  // a new value
};
std::optional<uint32_t> simplify_identity(Inst& inst, Definitions& definitions);

// Integers are not wrapped where nobody can tell.
void drop_wraps(Module& module);

// Equal values are computed once; what needs no operands stands at the top of the program.
void share(Module& module);

// What a loop computes anew in each round without need moves before it.
void hoist(Module& module);

// What nothing uses goes: values, variables, empty blocks.
void remove_dead(Module& module);

// Values and variables are numbered in the order of definition, without gaps.
void renumber(Module& module);

// All but the first and hoist: what is worth doing again once bounds are proved.
void simplify(Module& module);

}  // namespace hologram::program
