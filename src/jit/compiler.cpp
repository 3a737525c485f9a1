// The frame of the function: rows, workgroups, regions and chunks.
#include "jit/compiler.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

namespace hologram::jit {

Compiler::Compiler(const Module& module, const Analysis& analysis,
                   const interp::KernelTable& kernels, Target& target)
    : module_(module), analysis_(analysis), kernels_(kernels), target_(target) {
  values_.resize(module.body.values.size());
  variables_.resize(module.variables.size());
  data_.resize(module.buffers.size());
  lengths_.resize(module.buffers.size());
  rooms_.resize(module.buffers.size());
  last_tuples_.resize(module.buffers.size());
  prefetch_distance_.resize(module.buffers.size());
  find_hoisted();
  find_tuples();
}

void Compiler::run() {
  target_.begin();
  stop_ = label();
  fuel_ = target_.scalar();
  load_parameters();
  hoist(0, static_cast<uint32_t>(module_.body.insts.size()), false);
  rows();
  const BaseReg status = target_.scalar();
  const Label leave = label();
  target_.set(status, 0);
  target_.jump(leave);
  for (const auto& [out, back] : refuel_) {
    bind(out);
    target_.aside(out, back);
    const BaseReg arguments[] = {target_.argument()};
    const BaseReg more = target_.scalar();
    target_.load_scalar(more, field(target_.argument(), offsetof(Frame, more_fuel)), 8, false);
    target_.call(more, arguments, fuel_);
    target_.jump_if(Cond::Equal, fuel_, asmjit::imm(0), true, stop_);
    target_.jump(back);
  }
  bind(stop_);
  target_.set(status, 1);
  bind(leave);
  target_.end(status);
}

// What is the same for the whole launch.
void Compiler::load_parameters() {
  const BaseReg frame = target_.argument();
  const auto load = [&](BaseReg& r, size_t offset) {
    r = target_.scalar();
    target_.load_scalar(r, field(frame, offset), 8, false);
  };
  target_.load_scalar(fuel_, field(frame, offsetof(Frame, fuel)), 8, false);
  BaseReg buffers;
  load(buffers, offsetof(Frame, buffers));
  std::set<uint32_t> accessed, measured;
  for (const Inst& i : module_.body.insts) {
    if (i.op == Op::Load || i.op == Op::Store || i.op == Op::Atomic) {
      accessed.insert(i.slot);
      if (!i.proved || i.op == Op::Atomic) measured.insert(i.slot);
    }
    if (i.op == Op::Length) measured.insert(i.slot);
  }
  for (const auto& [at, tuple] : tuples_) measured.insert(inst(at).slot);
  if (target_.stores_past_caches()) load(cached_, offsetof(Frame, cached));
  for (const uint32_t slot : accessed) {
    data_[slot] = target_.scalar();
    target_.load_scalar(
        data_[slot],
        field(buffers, slot * sizeof(interp::BoundBuffer) + offsetof(interp::BoundBuffer, data)), 8,
        false);
  }
  for (const uint32_t slot : measured) {
    lengths_[slot] = target_.scalar();
    target_.load_scalar(
        lengths_[slot],
        field(buffers, slot * sizeof(interp::BoundBuffer) + offsetof(interp::BoundBuffer, length)),
        8, false);
  }
  measure_tuples();
}

// ---- Rows and workgroups ------------------------------------------------------------------------

void Compiler::rows() {
  const BaseReg frame = target_.argument(), end = target_.scalar();
  row_ = target_.scalar();
  target_.load_scalar(row_, field(frame, offsetof(Frame, row_begin)), 8, false);
  target_.load_scalar(end, field(frame, offsetof(Frame, row_end)), 8, false);
  // Division is slow and a row may be short: z goes up when y is through.
  y_ = target_.scalar();
  z_ = target_.scalar();
  rows_y_ = target_.scalar();
  target_.load_scalar(rows_y_, field(frame, offsetof(Frame, rows_y)), 8, false);
  target_.load_scalar(y_, field(frame, offsetof(Frame, y)), 8, false);
  target_.load_scalar(z_, field(frame, offsetof(Frame, z)), 8, false);
  const Label next = label(), done = label(), same = label();
  bind(next);
  if (analysis_.grouped) {
    groups();
  } else {
    hoist(0, static_cast<uint32_t>(module_.body.insts.size()), true);
    for (const Region& r : regions(0, static_cast<uint32_t>(module_.body.insts.size()))) region(r);
  }
  target_.scalar_op(Op::Add, DType::I64, row_, row_, asmjit::imm(1));
  target_.jump_if(Cond::GreaterEqual, row_, end, true, done);
  target_.scalar_op(Op::Add, DType::I64, y_, y_, asmjit::imm(1));
  target_.jump_if(Cond::Less, y_, rows_y_, true, same);
  target_.set(y_, 0);
  target_.scalar_op(Op::Add, DType::I64, z_, z_, asmjit::imm(1));
  bind(same);
  target_.jump(next);
  bind(done);
}

// Values that are there from the start.
void Compiler::position(const Inst& i) {
  const auto axis = i.aux;
  const auto copy = [&](BaseReg from) {
    const BaseReg r = target_.scalar();
    target_.copy(r, from);
    define_scalar(i.id, r);
  };
  switch (i.op) {
    case Op::Const: return;  // made where it is used
    case Op::Scalar: {
      const BaseReg scalars = target_.scalar(), r = target_.scalar();
      target_.load_scalar(scalars, field(target_.argument(), offsetof(Frame, scalars)), 8, false);
      target_.load_scalar(r, field(scalars, i.slot * 8), 8, false);
      if (i.type == DType::Bool)
        target_.scalar_compare(r, Cond::NotEqual, r, asmjit::imm(0), false);
      if (!is_float(i.type)) return define_scalar(i.id, r);
      const BaseReg v = target_.vector(i.type);
      target_.broadcast(i.type, v, r);
      values_[i.id].vectors[0] = v;
      return;
    }
    case Op::Length: return copy(lengths_[i.slot]);
    case Op::GroupCount: {
      const BaseReg r = target_.scalar();
      target_.load_scalar(r, field(target_.argument(), offsetof(Frame, grid) + axis * 8u), 8,
                          false);
      return define_scalar(i.id, r);
    }
    case Op::LaneId:
      if (axis == 0) {
        values_[i.id].scalar = x_;
      } else {
        const BaseReg r = target_.scalar();
        target_.set(r, 0);
        define_scalar(i.id, r);
      }
      return;
    case Op::GroupId: return copy(axis == 0 ? group_ : axis == 1 ? y_ : z_);
    case Op::GlobalId: {
      if (axis != 0 || analysis_.scalarized) return copy(axis == 0 ? x_ : axis == 1 ? y_ : z_);
      const BaseReg r = target_.scalar();
      if (analysis_.grouped) target_.scalar_op(Op::Add, DType::I64, r, x_, group_start_);
      else target_.copy(r, x_);
      values_[i.id].scalar = r;
      return;
    }
    default: throw Refused{"it has an instruction that is not compiled"};
  }
}

// ---- What is computed before the chunks ---------------------------------------------------------

// At the top, the same in all lanes, and not by way of a variable; of lanes that run one by one,
// what is the same for the whole launch.
void Compiler::find_hoisted() {
  const auto n = static_cast<uint32_t>(module_.body.insts.size());
  hoisted_.assign(n, false);
  for (uint32_t at = 0; at < n; at++) {
    const Inst& i = inst(at);
    bool hoisted = analysis_.around[at] == kNone && i.id != kNone && form(i.id) == Form::Uniform &&
                   i.op != Op::Get && i.op != Op::GroupReduce && i.op != Op::For &&
                   i.op != Op::Atomic && !(analysis_.scalarized && analysis_.by_row[i.id]);
    for (size_t k = 0; hoisted && k < program::arity(i); k++) {
      const uint32_t from = analysis_.definition[i.args[k]];
      hoisted = inst(from).op == Op::GroupReduce || hoisted_[from];
    }
    hoisted_[at] = hoisted;
  }
}

// by_row: what depends on the position in the grid; else the rest, once a launch.
void Compiler::hoist(uint32_t begin, uint32_t end, bool by_row) {
  unroll_ = 1;
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = inst(at);
    if (!hoisted_[at] || analysis_.by_row[i.id] != by_row) continue;
    instruction(at);
    prepare(i.id);
  }
}

// ---- Regions ------------------------------------------------------------------------------------

void Compiler::region(const Region& r) {
  bool works = r.after > r.end;
  for (uint32_t at = r.begin; at < r.end; at++)
    works = works || inst(at).op == Op::Store || inst(at).op == Op::Atomic;
  if (analysis_.scalarized) return works ? scalarize(r) : void();
  // A variable that another region sets, or that this one leaves to another, has no place to stay.
  for (uint32_t at = r.begin; at < r.after; at++) {
    const Inst& i = inst(at);
    if (i.op != Op::Get && i.op != Op::Set) continue;
    // What lanes share is set where there are no chunks, if there are loops that combine them.
    if (i.op == Op::Get && !analysis_.group_loops.empty() &&
        analysis_.variables[i.slot] == Form::Uniform)
      continue;
    bool here = false;
    for (uint32_t k = r.begin; k < at; k++)
      here = here || (inst(k).op == Op::Var && inst(k).slot == i.slot);
    if (!here) throw Refused{"its lanes keep variables across operations of the workgroup"};
  }
  if (!works) return;
  group_lanes_ = lanes_at_work(r);
  unroll_ = group_lanes_ <= target_.width ? 1 : unroll_of(r);
  // Of a workgroup nothing is left over.
  while (analysis_.grouped && unroll_ > 1 && group_lanes_ % lanes() != 0) unroll_ /= 2;
  find_steps(r);
  find_outer(r);
  find_lines_ahead(r);
  chunks(r, guard_of(r));
}

// Lanes of a workgroup that do something here: one vector of them if only lane 0 writes a result.
uint32_t Compiler::lanes_at_work(const Region& r) const {
  const uint32_t all = module_.workgroup[0];
  if (r.after > r.end) return all;
  uint32_t most = 0;
  for (uint32_t at = r.begin; at < r.end; at++) {
    const Inst& i = inst(at);
    if (program::is_pure(i.op) || hoisted_[at] || i.op == Op::LaneId) continue;
    if (!is_of_first_lanes(at)) return all;
    most = target_.width;
    at = analysis_.close[at];
  }
  return most;
}

Compiler::Guard Compiler::guard_of(const Region& r) const {
  Guard guard;
  if (analysis_.grouped) return guard;
  for (uint32_t at = r.begin; at < r.end; at++) {
    const Inst& i = inst(at);
    if (i.op == Op::If && guard.at == kNone && analysis_.otherwise[at] == kNone &&
        form(i.args[0]) == Form::Varying) {
      const Inst& c = definition(i.args[0]);
      if (c.op != Op::Lt || !is_signed_integer(c.from)) return {};
      const Inst& x = definition(c.args[0]);
      const uint32_t bound = analysis_.definition[c.args[1]];
      if (x.op != Op::GlobalId || x.aux != 0 || !hoisted_[bound]) return {};
      guard = {at, c.args[1]};
      at = analysis_.close[at];
    } else if (!program::is_pure(i.op) && !hoisted_[at] && i.op != Op::GlobalId) {
      return {};
    }
  }
  return guard;
}

// Loops take as long for a vector as for several side by side, as they wait for their own results:
// what is left behind the last of many is done by so many parts of it first.
constexpr uint32_t kManySideBySide = 8, kPartsOfChunk = 4;
// Instructions of a program whose vectors behind the last chunk are whole ones where they can be.
constexpr uint32_t kShortProgram = 64;

// Whole chunks, then what is left a masked vector at a time; so is a chunk that bails out.
void Compiler::chunks(const Region& r, const Guard& guard) {
  const BaseReg frame = target_.argument(), end = target_.scalar(), last = target_.scalar();
  x_ = target_.scalar();
  x_is_guarded_ = guard.at != kNone && size_of(type(guard.bound)) == 4;
  if (analysis_.grouped) {
    target_.set(x_, 0);
    target_.set(end, group_lanes_);
  } else {
    target_.load_scalar(x_, field(frame, offsetof(Frame, x_begin)), 8, false);
    target_.load_scalar(end, field(frame, offsetof(Frame, x_end)), 8, false);
    if (guard.at != kNone) target_.scalar_op(Op::Min, DType::I64, end, end, extended(guard.bound));
  }
  const Label whole = label(), rest = label(), done = label(), again = label(), bail = label(),
              careful = label();
  const auto step = asmjit::imm(lanes());
  const BaseReg until = target_.scalar();
  pace_ = target_.scalar();
  target_.set(pace_, target_.width);
  measure_rooms();
  target_.scalar_op(Op::Sub, DType::I64, last, end, step);
  if (!analysis_.grouped) target_.jump_if(Cond::Greater, x_, last, true, rest);
  bind(whole);
  if (!analysis_.grouped) {
    bail_ = bail;
    careful_ = careful;
  }
  bail_from_ = 0;
  chunk(r, guard);
  bail_ = Label();
  if (analysis_.grouped && group_lanes_ == lanes()) return;
  target_.scalar_op(Op::Add, DType::I64, x_, x_, step);
  target_.jump_if(Cond::LessEqual, x_, last, true, whole);
  if (analysis_.grouped) return;

  target_.seldom(rest, done);
  bind(rest);
  const auto smaller_chunks = [&](uint32_t unroll) {
    const BaseReg last_part = target_.scalar();
    const Label part = label(), few = label();
    unroll_ = unroll;
    measure_rooms();
    target_.scalar_op(Op::Sub, DType::I64, last_part, end, asmjit::imm(lanes()));
    target_.jump_if(Cond::Greater, x_, last_part, true, few);
    bind(part);
    bail_ = bail;
    careful_ = careful;
    chunk(r, guard);
    bail_ = Label();
    target_.scalar_op(Op::Add, DType::I64, x_, x_, asmjit::imm(lanes()));
    target_.jump_if(Cond::LessEqual, x_, last_part, true, part);
    bind(few);
  };
  const auto loops = [&](const Inst& i) { return i.op == Op::For; };
  const auto& insts = module_.body.insts;
  if (unroll_ >= kManySideBySide &&
      std::any_of(insts.begin() + r.begin, insts.begin() + r.end, loops))
    smaller_chunks(unroll_ / kPartsOfChunk);
  // Of short programs only: of others the masks take no part worth the time to compile.
  if (unroll_ > 1 && target_.masks_are_slow() && r.end - r.begin <= kShortProgram)
    smaller_chunks(1);
  target_.copy(until, end);
  target_.jump_if(Cond::GreaterEqual, x_, end, true, done);
  target_.jump(again);
  bind(careful);  // lane by lane
  target_.set(pace_, 1);
  bind(bail);
  target_.scalar_op(Op::Add, DType::I64, until, x_, step);
  target_.scalar_op(Op::Min, DType::I64, until, until, end);
  bind(again);
  unroll_ = 1;
  const BaseReg left = target_.scalar();
  target_.scalar_op(Op::Sub, DType::I64, left, end, x_);
  target_.scalar_op(Op::Min, DType::I64, left, left, pace_);
  masks_.resize(1);
  target_.first_lanes(left, masks_);
  masked_first_ = left;
  chunk(r, guard);
  masked_first_ = {};
  masks_.clear();
  careful_ = Label();
  target_.scalar_op(Op::Add, DType::I64, x_, x_, pace_);
  target_.jump_if(Cond::Less, x_, until, true, again);
  target_.set(pace_, target_.width);
  target_.jump_if(Cond::LessEqual, x_, last, true, whole);
  target_.jump(rest);
  bind(done);
}

void Compiler::chunk(const Region& r, const Guard& guard) {
  recompute(r);
  for (uint32_t at = r.begin; at < r.end;) {
    if (hoisted_[at]) {
      at++;
    } else if (at == guard.at) {
      emit(at + 1, analysis_.close[at]);
      at = analysis_.close[at] + 1;
    } else if (opens_block(inst(at))) {
      const uint32_t next = analysis_.close[at] + 1;
      emit(at, next);
      at = next;
    } else {
      instruction(at++);
    }
  }
  kept_.clear();
  uint32_t number = 0;
  for (uint32_t at = r.end; at < r.after; at++)
    if (inst(at).op == Op::GroupReduce) keep_lanes(inst(at), number++);
    else if (!hoisted_[at]) instruction(at);
}

// Values of earlier regions that differ between lanes: computed again for the lanes at hand.
void Compiler::recompute(const Region& r) {
  recomputed_before_ = r.begin;
  done_.clear();
  if (r.begin == 0) return;
  std::vector<bool> needed(r.begin, false);
  for (uint32_t at = r.begin; at < r.end; at++)
    for (size_t k = 0; k < program::arity(inst(at)); k++) mark_needed(inst(at).args[k], r, needed);
  for (uint32_t at = r.end; at < r.after; at++)
    if (inst(at).op == Op::GroupReduce) mark_needed(inst(at).args[0], r, needed);
  for (uint32_t at = 0; at < r.begin; at++)
    if (needed[at]) instruction(at);
}

bool Compiler::gives_the_same_again(const Inst& i) const {
  return program::is_pure(i.op) || i.op == Op::LaneId || i.op == Op::GlobalId ||
         (i.op == Op::Load && module_.buffers[i.slot].access == program::Access::In);
}

void Compiler::mark_needed(uint32_t value, const Region& r, std::vector<bool>& needed) const {
  const uint32_t at = analysis_.definition[value];
  if (at >= r.begin || needed[at]) return;
  const Inst& i = inst(at);
  if (form(value) == Form::Uniform) return;
  const uint32_t block = analysis_.around[at];
  if (!gives_the_same_again(i) || (block != kNone && block != analysis_.around[r.begin]))
    throw Refused{"its lanes keep values across operations of the workgroup"};
  needed[at] = true;
  for (size_t k = 0; k < program::arity(i); k++) mark_needed(i.args[k], r, needed);
}

}  // namespace hologram::jit
