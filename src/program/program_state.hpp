// What a Program shares between its copies.
#pragma once

#include "program/ir.hpp"

namespace hologram::program {

struct Program::State {
  Module source;     // verified, nothing proved
  Module optimized;  // what runs
  Needs needs;       // of `optimized`
  Hash128 hash;      // of `optimized`
};

}  // namespace hologram::program
