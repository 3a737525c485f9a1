// What the interpreter runs: a program with its values assigned to registers, its blocks to jump
// targets, and its pure instructions to kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interp/kernels.hpp"
#include "program/ir.hpp"

namespace hologram::interp {

// How wide a register's lanes are.
enum class Width : uint8_t { Bits, Four, Eight };

Width width_of(DType compute_type);

struct Step {
  program::Op op = program::Op::End;
  DType type = DType::None;
  DType from = DType::None;
  uint8_t aux = 0;
  uint8_t arity = 0;
  bool steals = false;            // Set, Var: the value is not used again, its row may be taken
  bool fuses_store = false;       // the next step stores this value, which nothing else uses
  uint32_t out = program::kNone;  // register
  std::array<uint32_t, 3> in = {program::kNone, program::kNone, program::kNone};
  uint32_t slot = program::kNone;     // buffer or shared array
  uint32_t target = program::kNone;   // If: its Else or End; Else, For, Loop: its End; Break,
                                      // Continue, Return, and End: the Else or End around it
  uint32_t partner = program::kNone;  // End: the If, For or Loop it closes
  uint32_t depth = 0;                 // of If, For, Loop and their ends: index of the frame
  uint32_t loop = program::kNone;     // Break, Continue, If, Else: depth of the innermost loop
  uint64_t imm = 0;
  uint32_t line = 0;
  Kernel kernel = nullptr;
};

struct SharedLayout {
  std::string name;
  uint32_t offset = 0;  // bytes
  uint32_t count = 0;
  DType type = DType::None;
};

struct Bytecode {
  std::string name;
  const KernelTable* kernels = nullptr;
  // Run once a launch and thread: what depends on scalars and lengths alone. Then, for every block
  // of lanes, the steps.
  std::vector<Step> prelude;
  std::vector<Step> steps;
  std::vector<Width> registers;    // of registers with a row
  uint32_t uniform_registers = 0;  // these follow: prelude values, without a row
  uint32_t frames = 0;             // deepest nesting
  std::vector<SharedLayout> shared;
  uint32_t shared_bytes = 0;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  bool cooperative = false;  // a block is one workgroup; else any lanes along x
  uint32_t block_lanes = 0;  // most lanes in a block, a multiple of 16
  std::vector<program::BufferParam> buffers;
  DType index = DType::I32;
};

// The program must be verified.
Bytecode lower(const program::Module& module, const KernelTable& kernels);

}  // namespace hologram::interp
