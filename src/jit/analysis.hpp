// What the compiler knows of a program before it begins: which values are the same in all lanes,
// which count along with them, where its blocks begin and end, and whether it can be taken at all.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "program/ir.hpp"

namespace hologram::jit {

using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

// A program that stays with the interpreter, and why: "it has a loop with a break".
struct Refused {
  std::string reason;
};

inline bool is_loop(const Inst& inst) { return inst.op == Op::For || inst.op == Op::Loop; }
inline bool opens_block(const Inst& inst) { return inst.op == Op::If || is_loop(inst); }

enum class Form : uint8_t {
  Uniform,  // one value for all lanes
  Affine,   // an integer: base + step * lane
  Varying,
};

struct Use {
  uint32_t first = kNone, last = kNone;  // instructions
  uint32_t count = 0;
  bool in_loop = false;  // a use stands in a loop that the definition does not stand in
};

struct Analysis {
  std::vector<Form> values;          // by id
  std::vector<int64_t> steps;        // of affine values
  std::vector<Form> variables;       // by slot: Uniform or Varying
  std::vector<Use> uses;             // by id
  std::vector<uint32_t> definition;  // by id: the instruction
  std::vector<uint32_t> close;       // by instruction that opens a block: its End
  std::vector<uint32_t> otherwise;   // of an If: its Else, or kNone
  std::vector<uint32_t> around;      // by instruction: the one that opens the block around it
  std::vector<uint32_t> loop;        // the same for the innermost For
  std::vector<uint32_t> waits_for;   // by instruction: the Set of a loop that computes it, or kNone
  std::vector<bool> as_vector;       // by id: a uniform value that vector operations use
  std::vector<bool> by_row;          // by id: a uniform value that depends on the group's position
  std::set<uint32_t> group_loops;    // Fors at the top in which workgroups combine their lanes
  bool wide = false;                 // lanes of 64 bits
  bool grouped = false;              // a workgroup at a time; else any lanes along x
  bool scalarized = false;           // a lane at a time: all of its values count as uniform
};

// Throws Refused. Adds the ids of loops whose lanes differ in their number of rounds to
// `differing`: then the program has to be written in another way (divergence.hpp), as where lanes
// leave a block.
Analysis analyse(const Module& module, std::set<uint32_t>& differing);
// Of lanes that run one after the other, where they may go ways of their own: loops of any number
// of rounds, break, continue, return, atomic operations.
Analysis analyse_one_by_one(const Module& module);

}  // namespace hologram::jit
