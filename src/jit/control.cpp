// Blocks and variables.
#include <algorithm>
#include <utility>

#include "jit/compiler.hpp"
#include "jit/divergence.hpp"

namespace hologram::jit {

namespace {

// A branch on a condition that holds in all lanes of most chunks is compiled twice if it is short.
constexpr uint32_t kShort = 200;
// One that is shorter yet is compiled a third time, for the first lanes alone.
constexpr uint32_t kVeryShort = 80;

}  // namespace

void Compiler::emit(uint32_t begin, uint32_t end) {
  for (uint32_t at = begin; at < end;) {
    const Op op = inst(at).op;
    if (op == Op::If) at = branch(at);
    else if (op == Op::For) at = loop(at);
    else if (op == Op::Loop) at = endless(at);
    else instruction(at++);
  }
}

void Compiler::instruction(uint32_t at) {
  const Inst& i = inst(at);
  if (tested_.computed.contains(at) || done_.erase(at) > 0) return;
  switch (i.op) {
    case Op::Load: return load(at);
    case Op::Store: return store(at);
    case Op::Var: return declare(i);
    case Op::Set: return assign(at);
    case Op::Get: return get(at);
    case Op::Atomic: return atomic(i);
    case Op::Break:
    case Op::Continue:
    case Op::Return: return leave(i);
    case Op::End:
    case Op::Else: return;
    default:
      if (!program::is_pure(i.op)) return position(i);
      // The comparison of a branch that is compiled twice is made there.
      if (form(i.id) == Form::Varying && analysis_.uses[i.id].count == 1 &&
          splits(analysis_.uses[i.id].first))
        return;
      pure(at);
  }
}

// ---- If -----------------------------------------------------------------------------------------

// lane index < bound, in a place where all lanes take part.
bool Compiler::splits(uint32_t at) const {
  const Inst& i = inst(at);
  if (i.op != Op::If || !masks_.empty() || analysis_.close[at] - at > kShort) return false;
  const Inst& c = definition(i.args[0]);
  return c.op == Op::Lt && (c.from == DType::I32 || c.from == DType::I64) &&
         form(c.args[0]) == Form::Affine && analysis_.steps[c.args[0]] == 1 &&
         form(c.args[1]) == Form::Uniform && analysis_.uses[c.id].count == 1 &&
         analysis_.around[at] == analysis_.around[analysis_.definition[c.id]];
}

uint32_t Compiler::branch(uint32_t at) {
  if (form(inst(at).args[0]) == Form::Uniform) {
    uniform_branch(at);
  } else if (stores_for_all(at)) {
    emit(at + 1, analysis_.close[at]);
  } else if (splits(at)) {
    split_branch(at);
  } else {
    std::vector<BaseReg> condition;
    for (uint32_t k = 0; k < unroll_; k++)
      condition.push_back(target_.in_register(DType::Bool, operand(inst(at).args[0], k)));
    masked_branch(at, condition);
  }
  return analysis_.close[at] + 1;
}

// Whether a block is for the first lanes of a workgroup, a vector of them at most.
bool Compiler::is_of_first_lanes(uint32_t at) const {
  if (inst(at).op != Op::If || analysis_.otherwise[at] != kNone) return false;
  const Inst& c = definition(inst(at).args[0]);
  if (c.op != Op::Lt || !is_constant(c.args[1])) return false;
  const Inst& lane = definition(c.args[0]);
  return lane.op == Op::LaneId && lane.aux == 0 && definition(c.args[1]).imm <= target_.width;
}

// The first lanes of a workgroup write what is the same for all of it: one does.
bool Compiler::stores_for_all(uint32_t at) const {
  if (!analysis_.grouped || group_lanes_ > target_.width || !is_of_first_lanes(at) ||
      definition(definition(inst(at).args[0]).args[1]).imm == 0)
    return false;
  for (uint32_t k = at + 1; k < analysis_.close[at]; k++) {
    const Inst& i = inst(k);
    const bool stores = i.op == Op::Store && is_stored_once(i);
    const bool computes = i.id != kNone && form(i.id) == Form::Uniform &&
                          (program::is_pure(i.op) || i.op == Op::Load);
    if (!stores && !computes) return false;
  }
  return true;
}

void Compiler::uniform_branch(uint32_t at) {
  const uint32_t otherwise = analysis_.otherwise[at], close = analysis_.close[at];
  bail_ = Label();
  const Label no = label(), end = label();
  target_.jump_if(Cond::Equal, scalar_of(inst(at).args[0]), asmjit::imm(0), false, no);
  emit(at + 1, otherwise == kNone ? close : otherwise);
  if (otherwise != kNone) target_.jump(end);
  bind(no);
  if (otherwise != kNone) emit(otherwise + 1, close);
  bind(end);
}

void Compiler::masked_branch(uint32_t at, const std::vector<BaseReg>& condition) {
  const uint32_t otherwise = analysis_.otherwise[at], close = analysis_.close[at];
  bail_ = Label();
  std::vector<BaseReg> then, rest;
  for (uint32_t k = 0; k < unroll_; k++) {
    const bool within = masks_.empty() || inst(at).aux == kOfThisBlock;
    then.push_back(within ? condition[k] : target_.mask_and(masks_[k], condition[k]));
    if (otherwise != kNone)
      rest.push_back(target_.mask_and_not(
          masks_.empty() ? target_.constant(DType::Bool, 1).as<BaseReg>() : masks_[k],
          condition[k]));
  }
  const auto part = [&](const std::vector<BaseReg>& masks, uint32_t begin, uint32_t end) {
    const Label none = label();
    bool is_short = true;  // less than to ask whether there are any
    for (uint32_t k = begin; k < end && is_short; k++)
      is_short = inst(k).op == Op::Const || lowers(inst(k));
    if (!is_short) target_.jump_if_none(masks, none);
    emit_masked(masks, begin, end);
    bind(none);
  };
  part(then, at + 1, otherwise == kNone ? close : otherwise);
  if (otherwise != kNone) part(rest, otherwise + 1, close);
}

// `first`: how many lanes that are, if it is the first ones.
void Compiler::emit_masked(const std::vector<BaseReg>& masks, uint32_t begin, uint32_t end,
                           BaseReg first) {
  const std::vector<BaseReg> outer = std::exchange(masks_, masks);
  const BaseReg outer_first = std::exchange(masked_first_, first);
  const uint32_t outer_level = std::exchange(level_, ++levels_);
  emit(begin, end);
  masks_ = outer;
  masked_first_ = outer_first;
  level_ = outer_level;
}

// Up to where the lanes of the branches of a loop all take part is known before it, if the bound
// is.
void Compiler::find_limits_in_all_lanes(uint32_t loop) {
  for (uint32_t at = loop + 1; at < analysis_.close[loop]; at++) {
    if (inst(at).op != Op::If || analysis_.around[at] != loop || !splits(at)) continue;
    const Inst& condition = definition(inst(at).args[0]);
    if (condition.from != DType::I32 || analysis_.definition[condition.args[1]] > loop) continue;
    const BaseReg last = target_.scalar();
    target_.scalar_op(Op::Sub, DType::I64, last, extended(condition.args[1]), asmjit::imm(lanes()));
    limits_in_all_lanes_[at] = last;
  }
}

// Three times: for a chunk whose lanes all take part, for one of which the first do, and for what
// is neither or may reach outside a buffer.
void Compiler::split_branch(uint32_t at) {
  const uint32_t compared = analysis_.definition[inst(at).args[0]];
  const Inst& condition = inst(compared);
  const uint32_t otherwise = analysis_.otherwise[at], close = analysis_.close[at];
  const uint32_t then_end = otherwise == kNone ? close : otherwise;
  const Label some = label(), any = label(), end = label();
  const bool wide = condition.from == DType::I64;
  const BaseReg first = extended(condition.args[0]);
  BaseReg bound;
  const BaseReg left = target_.scalar();
  const auto measure = [&] {
    bound = extended(condition.args[1]);
    // As far as the bound at least: then the index of no lane wraps around.
    if (wide) target_.jump_if(Cond::GreaterEqual, first, bound, true, some);
    target_.scalar_op(Op::Sub, DType::I64, left, bound, first);
  };
  const auto known = limits_in_all_lanes_.find(at);
  if (known != limits_in_all_lanes_.end()) {
    target_.jump_if(Cond::Greater, first, known->second, true, some);
  } else {
    measure();
    target_.jump_if(wide ? Cond::Below : Cond::Less, left, asmjit::imm(lanes()), true, some);
  }
  const Tested outer = tested_;
  tested_.first[condition.args[0]] = first;
  test_accesses(at + 1, then_end, BaseReg(), some);
  bail_ = some;
  bail_from_ = at;
  emit(at + 1, then_end);
  bail_ = Label();
  tested_ = outer;
  target_.jump(end);

  target_.seldom(some, end);
  bind(some);
  if (otherwise == kNone && close - at <= kVeryShort) {
    if (known != limits_in_all_lanes_.end()) measure();
    const BaseReg most = target_.scalar();
    target_.set(most, (wide ? INT64_MAX : INT32_MAX) - int64_t{lanes()});
    target_.jump_if(Cond::Greater, first, most, true, any);
    target_.jump_if(Cond::GreaterEqual, first, bound, true, end);
    target_.set(most, lanes());
    target_.scalar_op(Op::Min, DType::U64, left, left, most);
    test_accesses(at + 1, close, left, any);
    emit_first(at + 1, close, left);
    tested_ = outer;
    target_.jump(end);
  }

  bind(any);
  varying(compared);
  std::vector<BaseReg> masks;
  for (uint32_t k = 0; k < unroll_; k++)
    masks.push_back(target_.in_register(DType::Bool, operand(condition.id, k)));
  masked_branch(at, masks);
  bind(end);
}

// ---- For ----------------------------------------------------------------------------------------

// Bounds that count along with the lanes give each as many rounds, unless one wraps around on the
// way from the first lane to the last. Lane by lane, each is a first one.
void Compiler::check_rounds(const Inst& i) {
  const Label exact = label();
  if (!masks_.empty()) target_.jump_if(Cond::Equal, pace_, asmjit::imm(1), true, exact);
  const int64_t reach = analysis_.steps[i.args[0]] * (int64_t{lanes()} - 1);
  for (const uint32_t bound : {i.args[0], i.args[1]}) {
    const BaseReg last = target_.scalar(), wrapped = target_.scalar();
    target_.extend(last, scalar_of(bound), i.type);
    target_.scalar_op(Op::Add, DType::I64, last, last, asmjit::imm(reach));
    target_.extend(wrapped, last, i.type);
    target_.jump_if(Cond::NotEqual, last, wrapped, true, careful_);
  }
  bind(exact);
}

// What a loop does in a round, and the fuel that it takes; break leads to `done`.
void Compiler::one_round(uint32_t at, Label done) {
  const Label on = label();
  loops_.push_back({done, on});
  if (inst(at).slot == kNone) emit(at + 1, analysis_.close[at]);
  else emit_present(at, done);
  loops_.pop_back();
  bind(on);
  take_fuel();
}

void Compiler::take_fuel() {
  const Label refuel = label(), again = label();
  target_.count_down(fuel_, refuel);
  bind(again);
  refuel_.emplace_back(refuel, again);
}

// A round for the lanes that have not left the loop; on to `none` if there are none.
void Compiler::emit_present(uint32_t at, Label none) {
  const uint32_t slot = inst(at).slot, close = analysis_.close[at];
  const Value& present = variables_[slot];
  if (analysis_.variables[slot] != Form::Varying) {
    target_.jump_if(Cond::Equal, present.scalar, asmjit::imm(0), false, none);
    return emit(at + 1, close);
  }
  std::vector<BaseReg> masks;
  for (uint32_t k = 0; k < unroll_; k++)
    masks.push_back(target_.in_register(DType::Bool, present.vectors[k]));
  target_.jump_if_none(masks, none);
  emit_masked(masks, at + 1, close);
}

// Counts in 64 bits, so that the end of a narrower type is no special case; what is left of an i64
// is counted as an unsigned number.
void Compiler::count_rounds(uint32_t at, const Before& before, const Round& body) {
  const Inst& i = inst(at);
  const DType t = i.type;
  const bool counts_unsigned = is_unsigned_integer(t);
  const auto first_of = [&](uint32_t value) {
    const BaseReg r = target_.scalar();
    target_.extend(r, scalar_of(value), t);
    return r;
  };
  const Label done = label(), round = label();
  const BaseReg counter = first_of(i.args[0]), end = first_of(i.args[1]);
  target_.jump_if(counts_unsigned ? Cond::AboveEqual : Cond::GreaterEqual, counter, end, true,
                  done);
  const bool narrow = size_of(t) < 8;
  if (!narrow) target_.scalar_op(Op::Sub, DType::I64, end, end, counter);  // what is left
  Value& v = values_[i.id];
  v.scalar = counter;
  BaseReg as_vector;
  if (analysis_.as_vector[i.id]) {
    as_vector = target_.vector(t);
    v.vectors[0] = as_vector;
  }
  before(counter, end, done);
  bind(round);
  if (analysis_.as_vector[i.id]) target_.broadcast(t, as_vector, counter);
  body(done);
  const auto step = static_cast<int64_t>(i.imm);
  Operand by = asmjit::imm(step);
  if (step > INT32_MAX) {
    by = target_.scalar();
    target_.set(by.as<BaseReg>(), step);
  }
  if (narrow) {
    target_.scalar_op(Op::Add, DType::I64, counter, counter, by);
    target_.jump_if(Cond::Less, counter, end, true, round);
  } else {
    target_.jump_if(Cond::BelowEqual, end, by, true, done);
    target_.scalar_op(Op::Sub, DType::I64, end, end, by);
    target_.scalar_op(Op::Add, DType::I64, counter, counter, by);
    target_.jump(round);
  }
  bind(done);
}

uint32_t Compiler::rounds(uint32_t at) {
  bail_ = Label();  // a round may follow one that wrote
  if (form(inst(at).id) == Form::Affine) check_rounds(inst(at));
  const auto outer = limits_in_all_lanes_;
  count_rounds(
      at,
      [&](BaseReg counter, BaseReg end, Label done) {
        if (const auto store = store_of_row(at)) {
          begin_with_a_line(at, *store, counter);
          target_.jump_if(Cond::GreaterEqual, counter, end, true, done);
        }
        find_limits_in_all_lanes(at);
      },
      [&](Label done) { one_round(at, done); });
  limits_in_all_lanes_ = outer;
  return analysis_.close[at] + 1;
}

// ---- Variables ----------------------------------------------------------------------------------

void Compiler::declare(const Inst& i) {
  Value& v = variables_[i.slot];
  v.level = level_;
  const bool varies = analysis_.variables[i.slot] == Form::Varying;
  if (varies || i.type == DType::F32 || i.type == DType::F64) {
    for (uint32_t k = 0; k < (varies ? unroll_ : 1); k++)
      v.vectors[k] = varies && outer_.contains(i.slot) ? target_.spill_slot(i.type)
                                                       : Operand(target_.vector(i.type));
  } else {
    v.scalar = target_.scalar();
  }
  put_in_variable(i);
}

// Whether it makes a bool false, as lanes do that leave a loop.
bool Compiler::lowers(const Inst& i) const {
  return i.op == Op::Set && i.type == DType::Bool && is_constant(i.args[0]) &&
         definition(i.args[0]).imm == 0;
}

void Compiler::assign(uint32_t at) {
  bail_ = Label();
  const Inst& i = inst(at);
  if (gathered(at)) return;
  if (analysis_.variables[i.slot] != Form::Varying) return put_in_variable(i);
  for (uint32_t k = 0; k < unroll_; k++) assign_vector(at, k);
}

// The operand of a Var or a Set, in all lanes.
void Compiler::put_in_variable(const Inst& i) {
  const Value& v = variables_[i.slot];
  if (analysis_.variables[i.slot] == Form::Varying) {
    const bool within = i.op == Op::Var && i.aux == kOfThisBlock && !masks_.empty();
    for (uint32_t k = 0; k < unroll_; k++) {
      const Operand now = operand(i.args[0], k);
      if (!within) put_in_vector(i, k, now);
      else put_in_vector(i, k, target_.mask_and(masks_[k], target_.in_register(DType::Bool, now)));
    }
  } else if (i.type == DType::F32 || i.type == DType::F64) {
    target_.copy_vector(i.type, v.vectors[0].as<BaseReg>(), operand(i.args[0], 0));
  } else {
    target_.copy(v.scalar, scalar_of(i.args[0]));
  }
}

void Compiler::put_in_vector(const Inst& i, uint32_t k, const Operand& now) {
  const Operand& to = variables_[i.slot].vectors[k];
  if (outer_.contains(i.slot)) target_.to_spill_slot(i.type, to, now);
  else target_.copy_vector(i.type, to.as<BaseReg>(), now);
}

void Compiler::assign_vector(uint32_t at, uint32_t k) {
  if (gathered_vector(at, k)) return;
  const Inst& i = inst(at);
  const Value& v = variables_[i.slot];
  const bool all = masks_.empty() || v.level == level_ || i.aux == kOfThisBlock;
  const bool dies = analysis_.waits_for[analysis_.definition[i.args[0]]] == at;
  const Operand now = operand(i.args[0], k), was = v.vectors[k];
  if (all) put_in_vector(i, k, now);
  else if (lowers(i) && !outer_.contains(i.slot))
    put_in_vector(i, k, target_.mask_and_not(was.as<BaseReg>(), masks_[k]));
  else if (outer_.contains(i.slot))
    target_.to_spill_slot(i.type, was, target_.blend(i.type, masks_[k], now, was));
  else target_.merge(i.type, masks_[k], was.as<BaseReg>(), now, dies);
}

// The variable's own registers, if it keeps its value as long as this one is used.
void Compiler::get(uint32_t at) {
  const Inst& i = inst(at);
  const Value& v = variables_[i.slot];
  Value& to = values_[i.id];
  const Use& use = analysis_.uses[i.id];
  if (use.count == 0) return;
  // A block uses its condition to the end; whose lanes are those who are still there need not.
  uint32_t last = use.last;
  for (uint32_t k = at + 1; k <= use.last; k++)
    if (inst(k).op == Op::If && inst(k).args[0] == i.id && inst(k).aux != kOfThisBlock)
      last = std::max(last, analysis_.close[k]);
  bool stays = !use.in_loop;
  for (uint32_t k = at + 1; k < last && stays; k++)
    stays = inst(k).op != Op::Set || inst(k).slot != i.slot;
  const bool in_vectors =
      analysis_.variables[i.slot] == Form::Varying || i.type == DType::F32 || i.type == DType::F64;
  if (!in_vectors) {
    BaseReg r = v.scalar;
    if (!stays) {
      r = target_.scalar();
      target_.copy(r, v.scalar);
    }
    return define_scalar(i.id, r);
  }
  const uint32_t n = analysis_.variables[i.slot] == Form::Varying ? unroll_ : 1;
  for (uint32_t k = 0; k < n; k++) {
    to.vectors[k] = v.vectors[k];
    if (stays) continue;
    const BaseReg r = target_.vector(i.type);
    target_.copy_vector(i.type, r, v.vectors[k]);
    to.vectors[k] = r;
  }
}

}  // namespace hologram::jit
