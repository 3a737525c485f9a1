// The program as data: a flat list of instructions with structured control flow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hologram/op.hpp"
#include "hologram/program.hpp"

namespace hologram::program {

inline constexpr uint32_t kNone = UINT32_MAX;

// What every program keeps to. A device may offer less: Needs says what a program takes.
inline constexpr uint32_t kMaxLanes = 1024;             // of a workgroup
inline constexpr uint32_t kMaxSharedBytes = 32 * 1024;  // of all workgroup arrays together
inline constexpr uint32_t kMaxNesting = 100;            // of blocks

// One instruction. Each value is defined once (`id`) and may be used until the End of the block
// that it stands in; what changes is held in variables.
//
//   op                     type        aux      slot    args
//   Const                  result                       -            imm: the bits
//   Scalar                 result               scalar  -
//   Length                 index type           buffer  -
//   LaneId … GroupCount    index type  axis             -
//   pure operations        result                       operands     from: type of the operands
//                                                                    (of the second for select)
//   Var                    value type           var     initial
//   Get / Set              value type           var     - / value
//   Load / Store           value type           buffer  index / index, value     proved
//   SharedLoad/SharedStore value type           shared  index / index, value     proved
//   Atomic / SharedAtomic  value type  Combine  slot    index, value -> the old value
//   Barrier                                             -
//   GroupReduce/GroupScan  value type  Combine          value
//   GroupUniform           value type                   value: that of lane 0
//   If                                                  condition
//   For                    counter's                    begin, end   imm: the step, positive
//   Require                                     text    condition    (host code only)
//   Lanes                  index type  axis             count        (host code only)
struct Inst {
  Op op = Op::End;
  DType type = DType::None;
  DType from = DType::None;
  uint8_t aux = 0;
  bool proved = false;  // the access was shown to lie inside; set by the verifier only
  // Whoever made the program sees to it that the access lies inside wherever it is reached, which
  // the verifier takes for a proof. For code that is generated along with tests of its launches.
  bool trusted = false;
  uint32_t id = kNone;
  uint32_t slot = kNone;
  std::array<uint32_t, 3> args = {kNone, kNone, kNone};
  uint64_t imm = 0;
  uint32_t line = 0;  // of the text, for messages; not part of what the program is
};

struct SharedArray {
  std::string name;
  DType type = DType::None;  // a compute type other than bool
  uint32_t count = 0;
  bool atomic = false;
};

struct Variable {
  std::string name;
  DType type = DType::None;
};

struct Code {
  std::vector<Inst> insts;
  std::vector<DType> values;  // type of each value, by id
};

struct Module {
  std::string name;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  DType index = DType::I32;  // type of ids, lengths and dimensions: i32 or i64
  std::vector<BufferParam> buffers;
  std::vector<ScalarParam> scalars;  // dimensions among them, in order of appearance
  std::vector<SharedArray> shared;
  std::vector<Variable> variables;
  std::vector<std::string> require_texts;
  Code host;  // straight-line: Const, Scalar, Length, pure operations, Require, Lanes
  Code body;
  uint32_t lanes() const { return workgroup[0] * workgroup[1] * workgroup[2]; }
};

inline size_t arity(const Inst& inst) {
  size_t n = 0;
  while (n < 3 && inst.args[n] != kNone) n++;
  return n;
}

// Throws InvalidProgram unless the module is right in every respect that docs/atlas.md names.
void verify(const Module& module);

// Marks every access that can be shown to lie inside its buffer, for all arguments that pass the
// program's own checks.
void prove_bounds(Module& module);

// Folding, common subexpressions, loop-invariant code, dead code; ids renumbered in order.
void optimize(Module& module);

Needs needs_of(const Module& module);
Cost cost_of(const Module& module);
Hash128 hash_of(const Module& module);
std::string to_text(const Module& module);
Module assemble(std::string_view text, std::string_view file);

// The value of a pure operation on constants, as bits (narrow values zero-extended); empty where
// there is no such operation. `type` is the result's, `from` that of the operands.
std::optional<uint64_t> evaluate(Op op, DType type, DType from, std::array<uint64_t, 3> args);

// Runs the host code: the value bits of each host value id, given what scalars and lengths are.
std::vector<uint64_t> evaluate_host(const Module& module, std::span<const uint64_t> scalars,
                                    std::span<const uint64_t> lengths);

}  // namespace hologram::program
