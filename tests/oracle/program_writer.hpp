// Writes the body of a random program: statements (program_writer.cpp) of expressions
// (expression_writer.cpp) over the parameters of a plan.
#pragma once

#include <functional>
#include <vector>

#include "oracle/program_plan.hpp"

namespace hologram::oracle {

// A value, and whether all lanes of a group are sure to agree on it.
struct Known {
  program::Value value;
  bool uniform = false;
};

// Makes values. What it makes or is given stays in its pool until the block is left.
class ExpressionWriter {
 public:
  ExpressionWriter(Choices& choices, ProgramPlan& plan)
      : choose_(choices), plan_(plan), b_(*plan.builder) {}

  // A value of the type; a uniform one if asked.
  Known expression(DType type, int depth, bool uniform = false);
  // A value that is there already, or a constant.
  Known leaf(DType type, bool uniform = false);
  Known constant(DType type);
  // 0, 1 and, of floats, -0, an infinity and NaN: what rules of arithmetic are about.
  Known neutral(DType type);
  // A number that goes up or down evenly from lane to lane, and what is often made of one.
  Known affine(DType type);
  void add(Known known) { pool_.push_back(known); }
  DType some_type();
  // Where the bits or the sign of a NaN would show, another number.
  program::Value without_nan(program::Value value);

  // A variable that expressions may read.
  struct Variable {
    program::Var var;
    DType type;
    bool uniform;
  };
  void add_variable(Variable variable) { variables_.push_back(variable); }
  const std::vector<Variable>& variables() const { return variables_; }

  // All of them; those that differ between lanes are not read nor set until they are shown again.
  std::vector<Variable> own_variables_hidden() {
    std::vector<Variable> all = variables_;
    std::erase_if(variables_, [](const Variable& v) { return !v.uniform; });
    return all;
  }
  void show_variables(std::vector<Variable> all) { variables_ = std::move(all); }

  struct Mark {
    size_t pool, variables;
  };
  Mark mark() const { return {pool_.size(), variables_.size()}; }
  void release(Mark mark) {
    pool_.resize(mark.pool);
    variables_.resize(mark.variables);
  }

 protected:
  Choices& choose_;
  ProgramPlan& plan_;
  program::Builder& b_;
  program::Value lane_in_grid_;

 private:
  // An instruction's result.
  Known composite(DType type, int depth, bool uniform);
  Known operation(program::Op op, DType from, DType type, int depth, bool uniform);

  std::vector<Known> pool_;
  std::vector<Variable> variables_;
};

class ProgramWriter : public ExpressionWriter {
 public:
  using ExpressionWriter::ExpressionWriter;
  void write();

 private:
  struct LoopState {
    bool divergent;  // lanes may leave it at different times
  };

  void sources();
  void initialise_shared();
  void statements(int count, int depth);
  void statement(int depth);
  void block(bool uniform_flow, const std::function<void()>& body);

  // Of an `if`; half the time some lanes are sure to differ, unless it has to be uniform.
  Known condition(bool uniform);
  void write_if(int depth);
  void write_for(int depth);
  void write_loop(int depth);
  void write_exit();
  void accumulate(program::Value round);
  void write_variable();
  void write_load();
  void finish_load(DType type, program::Value index, program::Value length, bool own,
                   const std::function<program::Value(program::Value)>& load);
  void write_store();
  void write_store_of_one_lane();
  void write_digest();
  void write_update();
  void write_atomic();
  void write_group_operation();
  void write_rounds_together();
  void write_exchange(int depth);

  // Indices: of a slot of this lane's own; of anything.
  program::Value own_index(int64_t per_lane, program::Value lane, int64_t lanes, bool reversed,
                           int64_t offset);
  program::Value own_index(const BufferPlan& b);
  program::Value own_index(const SharedPlan& s);
  Known any_index(program::Value length, int64_t known_length);
  program::Value index_along(program::Value length);
  struct MultiIndex {
    program::Value flat, inside;
  };
  MultiIndex multi_index(const BufferPlan& buffer);
  void load_by_dims(const BufferPlan& buffer);
  program::Value slot_number(int64_t per_lane);
  program::Value index_constant(int64_t value) { return b_.constant(plan_.index, value); }
  void guarded(program::Value index, program::Value length, const std::function<void()>& body);
  bool uniform_flow() const { return uniform_ && !returned_; }
  bool may_exit() const { return loops_.size() > locked_loops_; }

  bool uniform_ = true;      // of control flow, by structure
  bool returned_ = false;    // some lanes may have ended
  int section_ = 0;          // inside an exchange: arrays may be read, not written
  size_t locked_loops_ = 0;  // loops that may not be left from here
  std::vector<LoopState> loops_;
  int64_t budget_ = 120;  // instructions still to write, a loop's body counted by its rounds
  int64_t rounds_ = 1;    // of all loops around
  program::Value lane_in_group_, group_in_grid_;
};

}  // namespace hologram::oracle
