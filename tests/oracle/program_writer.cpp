#include "oracle/program_writer.hpp"

#include <algorithm>
#include <bit>

#include "oracle/random_values.hpp"

namespace hologram::oracle {

using program::Combine;
using program::Op;
using program::Value;

void ProgramWriter::write() {
  if (plan_.all_lanes() > 1500) budget_ = 30;
  sources();
  initialise_shared();
  statements(4 + static_cast<int>(choose_.below(10)), 3);
  if (plan_.plain && plan_.cooperative && choose_.percent(50)) write_rounds_together();
  // Something is always written.
  while (budget_ > -1000 && choose_.percent(70)) {
    budget_ -= 100;
    write_store();
  }
  write_store();
  write_digest();
}

// What every program starts from; much of it is dead in the end.
void ProgramWriter::sources() {
  const auto linear = [&](const std::array<Value, 3>& at, const std::array<Value, 3>& count) {
    return (at[2] * count[1] + at[1]) * count[0] + at[0];
  };
  std::array<Value, 3> lane, group, global, width, groups, all;
  for (int axis = 0; axis < 3; axis++) {
    const auto n = static_cast<size_t>(axis);
    lane[n] = b_.lane_id(axis);
    group[n] = b_.group_id(axis);
    global[n] = b_.global_id(axis);
    groups[n] = b_.group_count(axis);
    width[n] = index_constant(plan_.workgroup[n]);
    all[n] = groups[n] * width[n];
    add({lane[n], false});
    add({group[n], true});
    add({groups[n], true});
    add({global[n], false});
  }
  const bool row = plan_.grid[1] * plan_.grid[2] * plan_.workgroup[1] * plan_.workgroup[2] == 1;
  lane_in_grid_ = row ? global[0] : linear(global, all);
  lane_in_group_ = linear(lane, width);
  group_in_grid_ = linear(group, groups);
  for (const ScalarPlan& s : plan_.scalars) add({b_.dimension(s.name), true});
  for (const BufferPlan& buffer : plan_.buffers) add({b_.length(buffer.buffer), true});
  add({lane_in_grid_, false});
}

void ProgramWriter::initialise_shared() {
  for (const SharedPlan& s : plan_.shared)
    for (int64_t slot = 0; slot < s.per_lane; slot++) {
      const Value at = lane_in_group_ * s.per_lane + slot;
      const Value value = expression(s.type, 1).value;
      if (s.atomic) b_.atomic(Combine::Exchange, s.array, at, value);
      else b_.store(s.array, at, value);
    }
}

void ProgramWriter::statements(int count, int depth) {
  for (int i = 0; i < count && budget_ > 0; i++) {
    budget_ -= rounds_;
    statement(depth);
  }
}

void ProgramWriter::statement(int depth) {
  enum Kind {
    Expression,
    Store,
    Load,
    Variable,
    If,
    For,
    Loop,
    Exit,
    Atomic,
    OneLane,
    Group,
    Exchange
  };
  constexpr Kind kKinds[] = {Expression, Store,    Store,   Store, Load,  Load,    Load, Variable,
                             Variable,   Variable, If,      If,    For,   For,     Loop, Exit,
                             Exit,       Atomic,   OneLane, Group, Group, Exchange};
  const bool nests = depth > 0;
  Kind kind = choose_.of(kKinds);
  if (may_exit() && choose_.percent(20)) kind = Exit;
  if (plan_.plain) {
    if (kind == Loop) kind = For;
    if (kind == Exit || kind == Atomic || kind == Exchange) kind = Variable;
    if (kind == Group && (depth < 3 || !uniform_flow())) kind = Store;
  }
  switch (kind) {
    case Expression: expression(some_type(), 3); return write_update();
    case Store: return write_store();
    case Load: return write_load();
    case Variable: return write_variable();
    case If: return nests ? write_if(depth) : write_store();
    case For: return nests ? write_for(depth) : write_load();
    case Loop: return nests ? write_loop(depth) : write_variable();
    case Exit: return loops_.empty() && choose_.percent(70) ? write_variable() : write_exit();
    case Atomic: return write_atomic();
    case OneLane: return write_store_of_one_lane();
    case Group:
      if (plan_.plain && plan_.cooperative && choose_.percent(60)) return write_rounds_together();
      return write_group_operation();
    case Exchange: return write_exchange(depth);
  }
}

void ProgramWriter::block(bool uniform_flow, const std::function<void()>& body) {
  const Mark before = mark();
  const bool outside = uniform_;
  uniform_ = uniform_ && uniform_flow;
  body();
  uniform_ = outside;
  release(before);
}

Known ProgramWriter::condition(bool uniform) {
  if (uniform || choose_.percent(50)) return expression(DType::Bool, 2, uniform);
  constexpr int64_t kMasks[] = {1, 3, 7, 16, 21};
  const Value some =
      (choose_.percent(70) ? lane_in_grid_ : affine(plan_.index).value) & choose_.of(kMasks);
  const auto limit = static_cast<int64_t>(choose_.below(4));
  return {choose_.percent(50) ? some > limit : some <= limit, false};
}

void ProgramWriter::write_if(int depth) {
  const Known condition = this->condition(uniform_flow() && choose_.percent(50));
  const auto part = [&] {
    block(condition.uniform,
          [&] { statements(1 + static_cast<int>(choose_.below(4)), depth - 1); });
  };
  if (choose_.percent(50)) b_.if_(condition.value, part, part);
  else b_.if_(condition.value, part);
}

void ProgramWriter::write_for(int depth) {
  constexpr DType kCounters[] = {DType::I32, DType::I64, DType::U32, DType::U64};
  DType type = choose_.percent(60) ? plan_.index : choose_.of(kCounters);
  if (plan_.narrow && size_of(type) == 8) type = DType::U32;
  const bool same = plan_.plain || choose_.percent(50);
  int64_t most = 1 + choose_.below(5);
  const auto number = [&](int64_t n) { return b_.constant(type, n); };
  const auto few = [&] {  // 0 … most
    const Known any = expression(type, 1, same);
    return Known{b_.emit(Op::Rem, {b_.emit(Op::And, {any.value, number(63)}), number(most + 1)}),
                 any.uniform};
  };
  const BufferPlan* walked = nullptr;
  Known begin{number(choose_.below(3)), true}, end;
  const uint32_t kind = choose_.below(7);
  uint64_t step = 1 + (choose_.percent(40) ? choose_.below(3) : 0);
  if (plan_.plain && choose_.percent(30)) {  // along the lanes
    begin = {b_.cast(lane_in_grid_, type) + number(choose_.below(5)), false};
    end = {begin.value + number(most), false};
  } else if (kind == 0) {
    end = {number(most), true};
  } else if (kind == 5) {  // anywhere, in steps of a quarter of the type's range
    const int bits = static_cast<int>(8 * size_of(type));
    step = (uint64_t{1} << (bits - 2)) + choose_.below(1000);
    const auto anywhere = [&] {
      return choose_.percent(50) ? expression(type, 1, same)
                                 : Known{b_.constant_bits(type, random_value(type, choose_)), true};
    };
    begin = anywhere();
    end = anywhere();
    most = 4;
  } else if (kind == 6 && type == plan_.index) {  // the last elements of a buffer
    const auto count = static_cast<uint32_t>(plan_.buffers.size());
    const BufferPlan& b = plan_.buffers[choose_.below(count)];
    end = {b_.length(b.buffer), true};
    if (b.access == program::Access::In) walked = &b;
    begin = {end.value - most, true};
    if (choose_.percent(70)) begin.value = max(begin.value, 0);
  } else if (kind == 1) {  // up to the end of the type, and not around it
    const uint64_t top = (UINT64_MAX >> (64 - 8 * size_of(type))) >> is_signed_integer(type);
    end = {b_.constant_bits(type, top - choose_.below(2)), true};
    begin = {b_.constant_bits(type, top - choose_.below(5)), true};
  } else {
    if (kind == 2) {  // from anywhere
      begin = choose_.percent(50) ? expression(type, 1, same) : few();
      const Known count = few();
      end = {begin.value + count.value, begin.uniform && count.uniform};
      // Where that wraps there would be next to endless rounds, or none: none.
      end.value = max(end.value, begin.value);
      end.value = min(end.value, begin.value + most);
      most = most + 1;
    } else {
      end = few();
    }
  }
  const bool even = begin.uniform && end.uniform && uniform_flow();
  const bool divergent = !even || choose_.percent(40);
  const int64_t outside = rounds_;
  rounds_ *= most;
  b_.for_(begin.value, end.value, step, [&](Value counter) {
    loops_.push_back({divergent});
    block(!divergent, [&] {
      add({counter, even});
      if (walked != nullptr) {  // with its neighbours
        const Value at = counter + (static_cast<int64_t>(choose_.below(3)) - 1);
        finish_load(compute_type(walked->type), at, end.value, true,
                    [&](Value index) { return b_.load(walked->buffer, index); });
      }
      accumulate(counter);
      statements(1 + static_cast<int>(choose_.below(4)), depth - 1);
      accumulate(counter);
    });
    loops_.pop_back();
  });
  rounds_ = outside;
}

void ProgramWriter::write_loop(int depth) {
  const int64_t most = 1 + choose_.below(4);
  Known limit{b_.constant(DType::U32, most), true};
  if (choose_.percent(60)) {
    const Known any = expression(DType::U32, 1, uniform_flow() && choose_.percent(50));
    limit = {b_.emit(Op::Rem, {any.value, b_.constant(DType::U32, most + 1)}), any.uniform};
  }
  const bool divergent = !limit.uniform || !uniform_flow() || choose_.percent(40);
  const program::Var rounds = b_.var(b_.constant(DType::U32, int64_t{0}));
  const int64_t outside = rounds_;
  rounds_ *= most;
  const auto body = [&] {
    loops_.push_back({divergent});
    block(!divergent, [&] {
      accumulate(b_.get(rounds));
      statements(1 + static_cast<int>(choose_.below(4)), depth - 1);
      accumulate(b_.get(rounds));
    });
    loops_.pop_back();
  };
  if (choose_.percent(50)) {
    b_.while_([&] { return b_.get(rounds) < limit.value; },
              [&] {
                b_.set(rounds, b_.get(rounds) + 1);
                body();
              });
  } else {
    b_.loop([&] {
      const Value round = b_.get(rounds);
      b_.if_(round >= limit.value, [&] { b_.break_(); });
      b_.set(rounds, round + 1);
      body();
    });
  }
  rounds_ = outside;
}

// Lanes that are combined in each round, as those that share a long row. From one round to the next
// they keep what they all agree on, and nothing else.
void ProgramWriter::write_rounds_together() {
  const int64_t most = 1 + choose_.below(4);
  Value end = index_constant(most);
  if (choose_.percent(60)) {
    const Value any = expression(plan_.index, 1, true).value;
    end = b_.emit(Op::Rem, {b_.emit(Op::And, {any, index_constant(63)}), index_constant(most + 1)});
  }
  const DType type = some_type();
  add_variable({b_.var(leaf(type, true).value), type, true});
  const std::vector<Variable> outside = own_variables_hidden();
  const int64_t rounds = rounds_;
  rounds_ *= most;
  b_.for_(index_constant(0), end, 1, [&](Value round) {
    loops_.push_back({true});
    block(true, [&] {
      add({round, true});
      statements(static_cast<int>(choose_.below(3)), 1);
      write_group_operation();
      write_variable();
      statements(static_cast<int>(choose_.below(3)), 1);
    });
    loops_.pop_back();
  });
  rounds_ = rounds;
  show_variables(outside);
}

// Lets it show which rounds a lane takes part in.
void ProgramWriter::accumulate(Value round) {
  if (choose_.percent(25)) write_update();
  for (const Variable& v : variables()) {
    if (v.uniform || !is_integer(v.type) || !choose_.percent(50)) continue;
    const Value before = b_.get(v.var);
    return b_.set(v.var, before * 5 + (b_.cast(round, v.type) ^ 1));
  }
}

// break, continue or return, in some lanes, or in all.
void ProgramWriter::write_exit() {
  const bool divergent_loops =
      std::all_of(loops_.begin(), loops_.end(), [](const LoopState& l) { return l.divergent; });
  const uint32_t kind = choose_.below(5);
  const bool returns = kind == 4;
  const bool anyhow = returns ? divergent_loops : !loops_.empty() && loops_.back().divergent;
  if (returns ? section_ > 0 : loops_.empty() || !may_exit()) return write_load();
  if (!anyhow && !uniform_flow()) return write_store();
  const Known condition = this->condition(!anyhow || choose_.percent(20));
  const auto leave = [&] {
    if (choose_.percent(30)) block(condition.uniform, [&] { write_store(); });
    if (returns) b_.return_();
    else if (kind < 2) b_.continue_();
    else b_.break_();
  };
  if (choose_.percent(20))
    b_.if_(
        condition.value, [&] { block(condition.uniform, [&] { write_load(); }); }, leave);
  else b_.if_(condition.value, leave);
  if (returns && !(condition.uniform && uniform_flow())) returned_ = true;
}

void ProgramWriter::write_variable() {
  // Not always one that is there already, and then only where its promise can be kept.
  if (choose_.percent(75))
    for (const Variable& v : std::vector<Variable>(variables())) {
      if ((v.uniform && !uniform_flow()) || !choose_.percent(50)) continue;
      // a, b = f(a), a: the old value is needed behind the assignment.
      if (!v.uniform && choose_.percent(30)) {
        const Value old = b_.get(v.var);
        b_.set(v.var, expression(v.type, 1).value);
        return add_variable({b_.var(old), v.type, false});
      }
      b_.set(v.var, expression(v.type, 2, v.uniform).value);
      return;
    }
  const DType type = some_type();
  const bool uniform = uniform_flow() && choose_.percent(40);
  const Known first = expression(type, 2, uniform);
  add_variable({b_.var(first.value), type, uniform});
}

}  // namespace hologram::oracle
