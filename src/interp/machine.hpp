// One thread's machine: the registers of one block of lanes, and the steps that work on them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "interp/bytecode.hpp"
#include "interp/interpreter.hpp"
#include "interp/registers.hpp"

namespace hologram::interp {

class Checker;

// Thrown out of a block that stops before its end.
struct Stopped {};

// What the machines of a launch share.
struct LaunchState {
  const Bytecode& code;
  const Launch& launch;
  std::atomic<bool> stop{false};                // some block stopped: the others follow
  std::atomic<Outcome> outcome{Outcome::Done};  // why the first one did
  Checker* checker = nullptr;
};

class Machine {
 public:
  explicit Machine(const Bytecode& code);
  ~Machine();

  // Before the first block of every launch, whose state must outlive the last one.
  void begin(LaunchState& state);

  // Lanes x … x + count - 1 of row y, z of the grid of lanes.
  void run_lanes(int64_t x, uint32_t count, int64_t y, int64_t z);
  // One whole workgroup.
  void run_group(int64_t x, int64_t y, int64_t z);
  // How many the last block had.
  uint32_t lanes() const { return block_; }

 private:
  struct Frame {
    Mask saved, other, continued;  // other: lanes of the Else, or that left the loop
    uint32_t saved_id = 0;
    bool split = false;   // If: the lanes differ; loops: some lane left or continued
    bool uniform = true;  // For: the same number of rounds in all lanes
    uint64_t round = 0, rounds = 0;
    int64_t begin = 0;
    std::vector<uint64_t> lane_rounds;
    std::vector<int64_t> lane_begin;  // empty if all lanes begin at `begin`
  };

  void run(uint32_t lanes);
  uint32_t step(const Step& s, uint32_t pc);

  // machine.cpp
  bool pure(const Step& s);  // true: the following store is done, too
  void position(const Step& s);
  void assign(const Step& s);
  void copy_register(Register& to, const Register& from, DType type);
  void blend(Register& to, Register& from, const Step& s);
  void set_cell(Register& r, DType type, uint64_t bits);
  void expand(Register& r, size_t element);  // an affine register's lanes into its row
  void own_row(Register& r, DType type);     // any register's lanes into its row
  Operand operand(Register& r, size_t element);
  void check_stop();
  [[noreturn]] void stop(Outcome outcome);

  // machine_control.cpp
  uint32_t begin_if(const Step& s, uint32_t pc);
  bool shorten(const Step& s, const Mask& then);
  uint32_t begin_else(const Step& s, uint32_t pc);
  uint32_t begin_loop(const Step& s, uint32_t pc);
  uint32_t end_block(const Step& s, uint32_t pc);
  uint32_t end_loop(const Step& s, const Step& opener, uint32_t pc);
  uint32_t leave(const Step& s);
  void count_rounds(const Step& s, Frame& frame);
  void set_counter(const Step& s, Frame& frame);
  bool active() const { return mask_.any(words_); }
  void restore(const Frame& frame, const Mask& mask);
  void remove_gone(Mask& mask, uint32_t loop) const;

  // machine_memory.cpp
  struct Target {
    std::byte* data;
    uint64_t length;
    DType type;
    bool constant;  // nobody writes it during the launch
  };
  Target target(const Step& s) const;
  void load(const Step& s);
  uint32_t load_strided(Register& out, const std::byte* origin, const Register& index,
                        uint64_t length) const;
  void store(const Step& s);
  void atomic(const Step& s);
  bool fused_store(const Step& s, const Step& store, const Operand* operands);
  void check_access(const Step& s, bool write, bool is_atomic);

  // machine_group.cpp
  void reduce(const Step& s);
  void scan(const Step& s);
  void take_first(const Step& s);
  void barrier();
  void copy_lanes(std::byte* to, Register& from, size_t size);

  friend class Checker;

  LaunchState* state_ = nullptr;
  const Bytecode& code_;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> memory_;
  std::vector<Register> registers_;
  std::vector<uint32_t> variable_mask_;  // by register: the mask it was declared under
  std::vector<Frame> frames_;
  std::byte* shared_ = nullptr;
  std::byte* scratch_ = nullptr;      // cooperative: two rows of the widest type
  std::vector<std::byte> lane_rows_;  // cooperative: lane ids along x, y, z where not affine
  std::byte* lane_row(int axis, bool wide);
  size_t lane_row_bytes() const { return static_cast<size_t>(code_.block_lanes) * 8; }

  Mask mask_, returned_;
  uint32_t mask_id_ = 0, next_mask_id_ = 0, full_id_ = 0;
  bool any_returned_ = false;
  uint32_t block_ = 0;  // lanes that the block began with
  uint32_t lanes_ = 0, groups_ = 0, words_ = 0;
  int64_t first_[3] = {};  // global id of the first lane
  int64_t group_[3] = {};
  uint32_t epoch_ = 0;   // barriers passed
  uint64_t rounds_ = 0;  // of loops in this block
};

// Sets `out` from affine (and uniform) operands, if the result is uniform or affine and inside the
// range of its type. affine.cpp
bool affine_step(const Step& s, const Register* const* in, uint32_t lanes, Register& out);

// The integer that a uniform or affine register of this type starts with.
int64_t first_value(const Register& r, DType type);

// Broadcasts one value to a group.
void fill_cell(std::byte* cell, DType type, uint64_t bits);

}  // namespace hologram::interp
