// From an analysed program to instructions of a Target.
//
// A function walks over rows of the grid; in each it runs the regions of the program one after the
// other. A region is what stands between two operations of a whole workgroup. It is run by chunks:
// `unroll_` vectors of lanes that go through it side by side, as many as the registers hold. What
// is the same in all lanes is computed by scalar instructions, before the chunks where it can be;
// an index that counts with the lanes is its first value. Lanes that do not take part in a block
// are masked, and a block that no lane of the chunk takes part in is jumped over.
//
// Divergent control flow becomes mask variables (divergence.hpp); or the loop is scalarized: a
// chunk is one lane, and everything in it is uniform.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "jit/analysis.hpp"
#include "jit/frame.hpp"
#include "jit/target.hpp"

namespace hologram::jit {

// A value, or a variable. Uniform integers and bools are scalars; uniform floats stand in one
// vector, in every lane.
struct Value {
  BaseReg scalar;                           // uniform integers; the first of affine ones
  std::array<Operand, kMaxUnroll> vectors;  // [0] if uniform
  std::function<Operand(uint32_t)> later;   // instead, of what waits: computes a vector, once
  uint32_t level = 0;                       // of masks, where a variable was declared
};

class Compiler {
 public:
  Compiler(const Module& module, const Analysis& analysis, const interp::KernelTable& kernels,
           Target& target);
  void run();
  uint32_t loads_of_columns() const;

  // How many vectors side by side suit the region that is the most demanding, and how many
  // registers that leaves for constants.
  static uint32_t spare_registers(const Module& module, const Analysis& analysis,
                                  const RegisterCount& registers, uint32_t width);

 private:
  // A top-level part of the body: instructions [begin, end), and the GroupReduces from `end` up to
  // `after`, if any, between which nothing stands that differs between lanes but variables.
  struct Region {
    uint32_t begin, end, after;
  };
  // What is known in a block from tests before it.
  struct Tested {
    std::set<std::pair<uint32_t, uint32_t>> inside;  // buffers, and indices that lie inside
    std::map<uint32_t, BaseReg> first;               // the first lane's, extended, of those indices
    std::set<uint32_t> computed;                     // instructions that are done already
  };
  // A load at any index, and those of the elements that follow it.
  struct Tuple {
    struct Member {
      uint32_t load;   // instruction
      uint32_t apart;  // value: from the first one's index on
    };
    std::vector<Member> rest;
  };
  // Extremes that a loop gathers, to be computed again where a result is in doubt.
  struct Gathering {
    DType type = DType::Bool;                          // of the extremes
    std::map<uint32_t, std::vector<uint32_t>> others;  // by Set: the values that it gathers
    std::vector<uint32_t> sets, declared;  // instructions: all Sets of the loop, and the Vars
    BaseReg retry;
  };
  struct Guard {  // an If around all that a region does, on global_id.x < bound
    uint32_t at = kNone;
    uint32_t bound = kNone;
  };

  const Inst& inst(uint32_t at) const { return module_.body.insts[at]; }
  DType type(uint32_t value) const { return module_.body.values[value]; }
  Form form(uint32_t value) const { return analysis_.values[value]; }
  const Inst& definition(uint32_t value) const { return inst(analysis_.definition[value]); }
  bool is_constant(uint32_t value) const { return definition(value).op == Op::Const; }
  uint32_t lanes() const { return analysis_.scalarized ? 1 : unroll_ * target_.width; }
  static Address field(BaseReg frame, size_t offset) {
    return {frame, {}, static_cast<int32_t>(offset)};
  }
  Label label() { return target_.compiler().newLabel(); }
  void bind(Label label) { target_.compiler().bind(label); }

  // compiler.cpp
  void load_parameters();
  void rows();
  void position(const Inst& i);
  void find_hoisted();
  void hoist(uint32_t begin, uint32_t end, bool by_row);
  void region(const Region& r);
  void chunks(const Region& r, const Guard& guard);
  void chunk(const Region& r, const Guard& guard);
  void recompute(const Region& r);
  bool gives_the_same_again(const Inst& i) const;
  void mark_needed(uint32_t value, const Region& r, std::vector<bool>& needed) const;
  Guard guard_of(const Region& r) const;
  uint32_t lanes_at_work(const Region& r) const;
  uint32_t unroll_of(const Region& r) const;  // unroll.cpp
  void find_steps(const Region& r);
  void find_outer(const Region& r);

  // scalarize.cpp
  void scalarize(const Region& r);
  uint32_t endless(uint32_t at);
  void leave(const Inst& i);

  // atomics.cpp
  void atomic(const Inst& i);

  // groups.cpp
  void groups();
  void group_region(const Region& r);
  void group_parts(uint32_t begin, uint32_t end);
  void group_loop(uint32_t at);
  uint32_t same_for_all(uint32_t begin, uint32_t end);
  bool is_same_for_all(uint32_t at) const;
  std::vector<Region> regions(uint32_t begin, uint32_t end) const;
  bool follows_reduce(uint32_t at, uint32_t end, uint32_t first) const;
  void keep_lanes(const Inst& reduce, uint32_t number);
  Operand lanes_of_group(const Inst& reduce, uint32_t number, uint32_t k);
  void reduce(const Inst& i, uint32_t number);

  // control.cpp
  void emit(uint32_t begin, uint32_t end);
  void instruction(uint32_t at);
  uint32_t branch(uint32_t at);
  bool is_of_first_lanes(uint32_t at) const;
  bool stores_for_all(uint32_t at) const;
  void uniform_branch(uint32_t at);
  void masked_branch(uint32_t at, const std::vector<BaseReg>& condition);
  void emit_masked(const std::vector<BaseReg>& masks, uint32_t begin, uint32_t end,
                   BaseReg first = BaseReg());
  bool splits(uint32_t at) const;
  void split_branch(uint32_t at);
  void find_limits_in_all_lanes(uint32_t loop);
  uint32_t rounds(uint32_t at);
  void one_round(uint32_t at, Label done);
  void take_fuel();
  // With the counter, the end of the first loop, and where it leads to; with that alone.
  using Before = std::function<void(BaseReg, BaseReg, Label)>;
  using Round = std::function<void(Label)>;
  void count_rounds(uint32_t at, const Before& before, const Round& body);
  void emit_present(uint32_t at, Label none);
  void check_rounds(const Inst& i);
  void declare(const Inst& i);
  bool lowers(const Inst& i) const;
  void assign(uint32_t at);
  void put_in_variable(const Inst& i);
  void put_in_vector(const Inst& i, uint32_t k, const Operand& now);
  void assign_vector(uint32_t at, uint32_t k);
  void get(uint32_t at);

  // tails.cpp
  void emit_first(uint32_t begin, uint32_t end, BaseReg left);
  bool is_sums(uint32_t begin, uint32_t end) const;
  void emit_sums(uint32_t begin, uint32_t end, BaseReg left);
  bool is_by_vector(uint32_t begin, uint32_t end) const;
  void emit_by_vector(uint32_t begin, uint32_t end, BaseReg left);

  // non_temporal.cpp
  uint32_t bytes_past_caches(uint32_t slot) const;
  BaseReg within_a_vector(const Address& address, uint32_t bytes);
  void store_non_temporal(uint32_t slot, const Address& first, std::span<const Operand> values,
                          Label done);
  std::optional<uint32_t> store_of_row(uint32_t loop) const;
  uint32_t branch_of(uint32_t loop) const;
  void begin_with_a_line(uint32_t loop, uint32_t store, BaseReg counter);

  // values.cpp
  Operand operand(uint32_t value, uint32_t k);
  BaseReg scalar_of(uint32_t value);
  Operand scalar_operand(uint32_t value);  // an immediate where it can be
  BaseReg extended(uint32_t value);        // to 64 bits
  void define_scalar(uint32_t id, BaseReg r);
  void define_uniform(uint32_t id, const Operand& v);  // from a vector
  void pure(uint32_t at);
  void affine(const Inst& i);
  void uniform(const Inst& i);
  bool uniform_integer(const Inst& i);
  void prepare(uint32_t value);
  bool absorbed(uint32_t at) const;
  BaseReg with_absorbed(const Inst& i, size_t which, uint32_t k);
  void varying(uint32_t at);
  bool multiply_whole(uint32_t at);
  bool root_or_quotient(uint32_t at);
  std::optional<BaseReg> compute(uint32_t at, uint32_t k, uint32_t dies);
  uint32_t dying(uint32_t at) const;
  interp::Kernel kernel_of(const Inst& i) const;
  void call_kernel(const Inst& i);

  // minmax.cpp
  void prepare_limits(uint32_t value);
  Operand mending(Op op, DType type, const Operand& limit);
  Operand extreme_by(Op op, DType type, const Operand& limit, const Operand& x,
                     const std::optional<Operand>& mend);
  std::optional<BaseReg> limited(const Inst& i, uint32_t k);
  uint32_t gathers(uint32_t set, uint32_t value, std::vector<uint32_t>& others) const;
  std::optional<Gathering> gathering_of(uint32_t at) const;
  uint32_t loop(uint32_t at);
  uint32_t gather(uint32_t at, Gathering gathering);
  const std::vector<uint32_t>* gathered_by(uint32_t at) const;
  bool gathered(uint32_t at);
  bool gathered_vector(uint32_t at, uint32_t k);

  // interleaved.cpp
  void find_tuples();
  void measure_tuples();
  void load_tuple(uint32_t at, const Tuple& tuple);
  bool begins_stored_tuple(uint32_t at) const;
  void store_tuple(uint32_t at);
  uint32_t step_of_lanes(const Inst& access) const;
  uint32_t step_between(uint32_t index) const;

  // access.cpp
  void load(uint32_t at);
  void load_uniform(const Inst& i);
  bool broadcast_from_memory(const Inst& i, uint32_t element);
  void load_neighbours(uint32_t at);
  bool is_backward(const Inst& i) const;
  void load_backward(const Inst& i);
  void load_any(const Inst& i);
  void store(uint32_t at);
  bool is_stored_once(const Inst& i) const;
  bool store_uniform(const Inst& i);
  void store_neighbours(const Inst& i);
  void prefetch(const Address& first, uint32_t elements, int32_t lines_ahead, bool stores);
  void store_masked(DType stored, const Address& to, const Inst& i, uint32_t k);
  void find_lines_ahead(const Region& r);
  void store_any(const Inst& i);
  Address run_address(uint32_t slot, BaseReg index);
  BaseReg index_of(const Inst& i);
  bool has_zeros_above(uint32_t value) const;
  bool neighbours(uint32_t index) const;
  bool stays_in_memory(uint32_t at) const;
  BaseReg inside(const Inst& i, uint32_t k);  // lanes that take part and whose index is inside
  BaseReg mask(uint32_t k) const { return masks_.empty() ? BaseReg() : masks_[k]; }
  bool inside_or_bail(const Inst& i, BaseReg index);
  void test_accesses(uint32_t begin, uint32_t end, BaseReg lanes, Label outside);
  bool compute_early(uint32_t value, uint32_t begin);
  void measure_rooms();

  const Module& module_;
  const Analysis& analysis_;
  const interp::KernelTable& kernels_;
  Target& target_;

  std::vector<bool> hoisted_;  // by instruction: computed before the chunks
  uint32_t unroll_ = 1;
  Target::Steps by_steps_;
  std::vector<int32_t> prefetch_distance_;  // by buffer, of loads; 0: they are not prefetched
  uint32_t group_lanes_ = 0;                // of a workgroup, that the region at hand needs
  std::vector<BaseReg> masks_;  // of the lanes that take part, a vector each; empty: all
  BaseReg masked_first_;        // how many, if those are the first ones
  uint32_t level_ = 0, levels_ = 0;
  std::vector<Value> values_, variables_;
  std::set<uint32_t> outer_;  // variables that stand in memory while the inner loops run
  std::map<uint32_t, Target::Divisor> divisors_;       // by value: what many numbers are divided by
  std::map<std::pair<uint32_t, Op>, Operand> limits_;  // by value: what mends extremes by it
  // By If of the loop at hand: the highest first index with which all lanes take part.
  std::map<uint32_t, BaseReg> limits_in_all_lanes_;
  std::optional<Gathering> gathering_;   // of the loop at hand
  std::vector<BaseReg> data_, lengths_;  // of buffers
  Tested tested_;
  std::map<uint32_t, Tuple> tuples_;  // by the instruction of the first load
  std::set<uint32_t> stored_tuples_;  // first of kMostOfTuple stores side by side
  struct Last {
    BaseReg index, in_all_lanes;
  };
  std::vector<Last> last_tuples_;  // by buffer
  std::set<uint32_t> done_;        // instructions ahead that a tuple has done
  std::vector<BaseReg> rooms_;     // how many first indices leave a whole chunk inside
  // Where the lanes of a chunk are done again one by one, if they differ in the number of rounds of
  // a loop after all; how many lanes a masked vector then has.
  Label careful_;
  BaseReg pace_;
  uint32_t bail_from_ = 0;  // values defined before are needed there
  Label bail_;  // where a chunk is done again with masks, if an index turns out to be outside
  BaseReg rows_y_;
  BaseReg row_, y_, z_;
  bool x_is_guarded_ = false;  // by a bound of 32 bits
  BaseReg x_;                  // the first lane of the chunk: in the grid, or in its workgroup
  // Of each reduction of a region: the lanes that its last chunk has in registers.
  std::vector<std::vector<Operand>> kept_;
  BaseReg group_, group_start_;  // grouped: the workgroup, its first lane
  BaseReg fuel_, cached_;
  Label stop_;
  std::vector<std::pair<Label, Label>> refuel_;  // the way there and back
  // Lanes one by one: where one is done, and where break and continue lead to, of the loops around.
  Label lane_done_;
  struct Ways {
    Label out, on;
  };
  std::vector<Ways> loops_;
  uint32_t recomputed_before_ = 0;
};

}  // namespace hologram::jit
